#!/bin/bash
# Emulated hosts on one machine: each has its own network, address and name; they share memory, cores and files.
#
#   scripts/multinode.sh up N [RATE]          N hosts; RATE (1gbit, 100mbit) shapes what each of them sends
#   scripts/multinode.sh run PPN PROGRAM ...  PPN ranks on each; options before the program go to mpirun
#   scripts/multinode.sh exec I COMMAND ...   a command on host I (from 1)
#   scripts/multinode.sh down                 the hosts and all that runs on them are gone
#   scripts/multinode.sh once NxPPN [RATE] PROGRAM ...   up, run and down in one, beside whatever else is up
#
# Where the machine allows no namespaces `up` and `once` say so and end with exit code 77. A second `up` replaces the
# first; MESHWISE_HOSTS=NAME keeps several apart. Ctrl-C ends the job and takes its hosts down.
#
# All of it lives in namespaces (PIDs, mounts, network) that have no name outside: no packet reaches a real interface,
# no file of the system changes, and when the hosts' first process ends the kernel ends and frees everything else.
set -uo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
self=$(readlink -f "${BASH_SOURCE[0]}")
subnet=10.77.0
skipped=77

usage() {
  sed -n '2,/^set /s/^# \{0,1\}//p' "$self" | head -n -1 >&2
  exit 2
}

# ---- inside: the first process of the hosts, then what others do there ----

# first STATE N RATE: makes the hosts, says so, and stays.
first() {
  local state=$1 hosts=$2 rate=$3 i
  set -e
  exec 3>"$state/said"  # outside; the next line covers it
  mount -t tmpfs -o mode=755 tmpfs "$state"
  mkdir "$state/tmp"
  # Open MPI's files carry the job's number, which repeats as PIDs do here: they are in nobody else's way.
  mount -t tmpfs -o mode=1777 tmpfs /dev/shm
  { echo "127.0.0.1 localhost"; for ((i = 1; i <= hosts; ++i)); do echo "$subnet.$i host$i"; done; } >"$state/hosts"
  mount --bind "$state/hosts" /etc/hosts
  : >"$state/resolv.conf"
  if [[ -e /etc/resolv.conf ]]; then mount --bind "$state/resolv.conf" "$(readlink -f /etc/resolv.conf)"; fi  # nobody waits for a name server
  ip link set lo up
  ip link add hub type bridge
  ip link set hub up
  for ((i = 1; i <= hosts; ++i)); do
    : >"$state/net.$i"
    : >"$state/uts.$i"
    unshare --net="$state/net.$i" --uts="$state/uts.$i" hostname "host$i"
    on "$state" "$i" ip link set lo up
    on "$state" "$i" ip link add veth0 type veth peer name "port$i" netns 1
    ip link set "port$i" master hub up
    on "$state" "$i" ip addr add "$subnet.$i/24" dev veth0
    on "$state" "$i" ip link set veth0 up
    if [[ -n $rate ]]; then on "$state" "$i" tc qdisc add dev veth0 root tbf rate "$rate" burst 256kb latency 50ms; fi
  done
  # mpirun calls it as: agent HOST COMMAND WORDS. A real host has not the caller's settings either.
  cat >"$state/agent" <<'AGENT'
#!/bin/bash
state=$(dirname "$0") host=${1#host}
shift
while IFS= read -r name; do unset "$name"; done < <(compgen -e MESHWISE_)
exec nsenter --net="$state/net.$host" --uts="$state/uts.$host" sh -c "$*"
AGENT
  chmod +x "$state/agent"
  echo ready >&3
  exec 3>&-
  while :; do sleep infinity & wait; done  # bash collects orphans
}

# on STATE I COMMAND...: from inside, on host I.
on() {
  local state=$1 i=$2
  shift 2
  nsenter --net="$state/net.$i" --uts="$state/uts.$i" -- "$@"
}

# job STATE N PPN FOLDER [OPTIONS] PROGRAM...: from inside, mpirun on host 1.
job() {
  local state=$1 hosts=$2 ppn=$3 list='' i
  cd "$4" || exit 1
  shift 4
  for ((i = 1; i <= hosts; ++i)); do list+=host$i:$ppn,; done
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 MESHWISE_NO_BUILD=1
  # Open MPI counts slots, not cores, so its ranks would spin where they have to yield.
  export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_rmaps_base_oversubscribe=1
  export TMPDIR=$state/tmp OMPI_MCA_orte_tmpdir_base=$state/tmp OMPI_MCA_plm_rsh_no_tree_spawn=1
  export OMPI_MCA_pml=${OMPI_MCA_pml-ob1} OMPI_MCA_btl=${OMPI_MCA_btl-self,vader,tcp}
  export OMPI_MCA_oob_tcp_if_include=$subnet.0/24 OMPI_MCA_btl_tcp_if_include=$subnet.0/24
  # --leave-session-attached: a session of its own would be a scheduler group of its own, and a rank that polls on one host
  # then starves the other host for seconds.
  exec nsenter --net="$state/net.1" --uts="$state/uts.1" -- "$root/scripts/run_mpirun.sh" -n $((hosts * ppn)) --host "${list%,}" \
    --leave-session-attached --mca plm rsh --mca plm_rsh_agent "$state/agent" "$@"
}

# ---- outside ----

# The identity of a process: a number alone may be another's by now.
started() {
  local text stat
  { text=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
  read -ra stat <<<"${text##*) }"  # behind the command's name, which may hold blanks
  echo "${stat[19]}"
}

# The hosts' first process, as seen from here, in `init`; false when there is none.
find_init() {
  local when
  [[ -r $state/init ]] && read -r init when hosts <"$state/init" && [[ $(started "$init") == "$when" ]]
}

inside() { nsenter --target "$init" "${user[@]}" --mount --pid --net -- "$@"; }

tear_down() {
  local i
  if find_init; then
    kill -KILL "$init" 2>/dev/null
    for ((i = 0; i < 100; ++i)); do kill -0 "$init" 2>/dev/null || break; sleep 0.05; done
  fi
  # An `up` that was stopped half way: its process is our child.
  if [[ -n ${keeper:-} ]]; then kill -KILL "$keeper" 2>/dev/null; wait "$keeper" 2>/dev/null; fi
  rm -rf "$state"
}

interrupted() {
  trap '' INT TERM HUP
  exec 2>/dev/null  # bash would tell of the job that tear_down kills
  tear_down
  exit "$1"
}

# bring_up N RATE [COMMAND that starts the first process]
bring_up() {
  local count=$1 rate=$2 why=
  shift 2
  [[ $count =~ ^[1-9][0-9]{0,2}$ && $count -le 250 ]] || { say "a number of hosts from 1 to 250, not '$count'"; exit 2; }
  [[ -z $rate || $rate =~ ^[0-9.]+[kmgKMG]?(bit|bps)$ ]] || { say "a rate like 1gbit, not '$rate'"; exit 2; }
  for why in ip unshare nsenter setpriv ${rate:+tc}; do
    command -v "$why" >/dev/null || { say "skipped: emulated hosts need the command $why (packages iproute2, util-linux)"; exit $skipped; }
  done
  trap 'interrupted 130' INT
  trap 'interrupted 143' TERM
  trap 'interrupted 129' HUP
  tear_down
  mkdir -m 700 "$state" || exit 1
  : >"$state/said"
  local make=()
  ((EUID == 0)) || make=(--user --map-root-user)
  "$@" unshare "${make[@]}" --mount --net --uts --pid --fork --kill-child --mount-proc \
    "$self" first "$state" "$count" "$rate" </dev/null >/dev/null 2>"$state/errors" &
  keeper=$!
  until [[ -s $state/said ]]; do
    if ! kill -0 "$keeper" 2>/dev/null; then
      why=$(head -n 1 "$state/errors")
      rm -rf "$state"
      if ((EUID != 0)); then why+=" (root can, where this user cannot)"; fi
      say "skipped: this machine allows no emulated hosts: $why"
      exit $skipped
    fi
    sleep 0.02
  done
  read -r init _ <"/proc/$keeper/task/$keeper/children"
  hosts=$count
  echo "$init $(started "$init") $hosts" >"$state/init"
  disown "$keeper"
}

# run PPN [OPTIONS] PROGRAM...
run() {
  local ppn=$1 at
  shift
  [[ $ppn =~ ^[1-9][0-9]*$ ]] || { say "a number of ranks a host, not '$ppn'"; exit 2; }
  (($#)) || usage
  # The program is the first word that is neither an option nor an option's value; it is built out here.
  local words=("$@")
  for ((at = 0; at < $#; ++at)); do
    case ${words[at]} in
      --mca | -mca | --gmca) ((at += 2)) ;;
      --timeout | -x | --map-by | --bind-to | --rank-by | --output-filename | --wdir | --tune) ((at += 1)) ;;
      -*) ;;
      *) break ;;
    esac
  done
  ((at < $#)) || { say "which program?"; exit 2; }
  local program=${words[at]}
  if [[ $program == */* ]]; then
    if [[ $program != /* ]]; then
      if [[ ! -e $program && $program == build/* ]]; then program=$build/${program#build/}; else program=$PWD/$program; fi
    fi
    if [[ -z ${MESHWISE_NO_BUILD:-} && $program == "$build"/* ]]; then
      install_missing && build_targets "${program#"$build"/}" || exit 1
    fi
    words[at]=$program
  fi
  inside "$self" job "$state" "$hosts" "$ppn" "$PWD" "${words[@]}" <&0 &
  wait $!
}

name=${MESHWISE_HOSTS:-hosts}
[[ $name =~ ^[A-Za-z0-9_.-]+$ ]] || { say "MESHWISE_HOSTS is a plain word, not '$name'"; exit 2; }
state=${XDG_RUNTIME_DIR:-/tmp}/meshwise-$EUID-$name
init='' hosts='' keeper='' user=()
((EUID == 0)) || user=(--user --preserve-credentials)
if [[ -e $state && ! -O $state ]]; then say "$state is not yours"; exit 1; fi

action=${1:-}
(($#)) && shift
case $action in
  first | job) "$action" "$@" ;;
  up)
    (($# == 1 || $# == 2)) || usage
    bring_up "$1" "${2:-}" setsid
    say "$hosts hosts: host1 ... host$hosts${2:+, $2 each}" ;;
  down) tear_down ;;
  run | exec)
    (($# >= 2)) || usage
    find_init || { say "no hosts are up: scripts/multinode.sh up N"; exit 1; }
    if [[ $action == exec ]]; then
      [[ $1 =~ ^[1-9][0-9]{0,2}$ && $1 -le $hosts ]] || { say "a host from 1 to $hosts, not '$1'"; exit 2; }
      # shellcheck disable=SC2016
      inside nsenter --net="$state/net.$1" --uts="$state/uts.$1" -- bash -c 'cd "$1" && shift && exec "$@"' - "$PWD" "${@:2}"
      exit $?
    fi
    trap 'interrupted 130' INT
    trap 'interrupted 143' TERM
    trap 'interrupted 129' HUP
    run "$@" ;;
  once)
    [[ ${1:-} =~ ^([0-9]+)x([0-9]+)$ ]] || usage
    count=${BASH_REMATCH[1]} ppn=${BASH_REMATCH[2]}
    shift
    rate=
    if [[ ${1:-} =~ ^[0-9.]+[kmgKMG]?(bit|bps)$ ]]; then rate=$1; shift; fi
    # Should this script be killed, its hosts are too; what then stays is a folder of little files, for the next one to sweep.
    for state in "${TMPDIR:-/tmp}"/meshwise-once.*.*; do
      maker=${state##*/meshwise-once.} maker=${maker%%.*}
      if [[ -O $state ]] && ! kill -0 "$maker" 2>/dev/null; then rm -rf "$state"; fi
    done
    state=$(mktemp -d "${TMPDIR:-/tmp}/meshwise-once.$$.XXXXXX") || exit 1
    trap tear_down EXIT
    bring_up "$count" "$rate" setpriv --pdeathsig KILL
    run "$ppn" "$@" ;;
  *) usage ;;
esac

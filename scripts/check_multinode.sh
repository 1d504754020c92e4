#!/bin/bash
# check_multinode.sh [PROGRAM]: scripts/multinode.sh may be brought up twice, runs jobs (and PROGRAM, on four ranks) over two hosts, and leaves
# no process, namespace or folder behind when taken down, at Ctrl-C or killed; then it works again. Exit code 77, skipped, where no emulated
# hosts are allowed.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
place=$(mktemp -d "${TMPDIR:-/tmp}/meshwise-check.XXXXXX") || exit 1
folders=$place/folders printed=$place/printed messages=$place/messages
mkdir "$folders"
# All that is started here has this in its environment.
mark=check.$$
multinode=(env MESHWISE_NO_BUILD=1 MESHWISE_HOSTS=$mark XDG_RUNTIME_DIR="$folders" TMPDIR="$folders" "$root/scripts/multinode.sh")
trap '"${multinode[@]}" down; rm -rf "$place"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  say "$*"
  cat "$messages" "$printed" >&2
  exit 1
}

# From inside: each says its host and its namespaces.
program='echo "on $(hostname)"; readlink /proc/self/ns/net /proc/self/ns/pid /proc/self/ns/mnt'
spaces=()
note() { mapfile -t -O ${#spaces[@]} spaces < <(grep -oE '(net|pid|mnt):\[[0-9]+\]' "$printed" | sort -u); }

left() {
  local space
  grep -lsz "^MESHWISE_HOSTS=$mark\$" /proc/[0-9]*/environ
  for space in "${spaces[@]}"; do find /proc/[0-9]*/ns -lname "$space" -print -quit 2>/dev/null; done
  ls -A "$folders"
}
# nothing_left WHEN: what is killed takes a moment to be gone.
nothing_left() {
  local i
  for ((i = 0; i < 50; ++i)); do
    if [[ -z $(left) ]]; then spaces=(); return; fi
    sleep 0.1
  done
  fail "$1: left are $(left | head -n 5 | tr '\n' ' ')"
}

# works COMMAND...: a job of one rank on each of two hosts.
works() {
  "${multinode[@]}" "$@" bash -c "$program" >"$printed" 2>"$messages" || fail "$*: exit code $?"
  [[ $(grep -c 'on host[12]' "$printed") == 2 && $(grep 'net:' "$printed" | sort -u | wc -l) == 2 ]] || fail "$*: not one rank on each of two hosts"
  note
}

# stopped WHEN SIGNAL COMMAND...: in a process group of its own, as a terminal starts it; once the job runs on both hosts the signal goes to all
# of the group, as Ctrl-C does, or to the script alone.
stopped() {
  local when=$1 signal=$2 to= i pid status
  shift 2
  : >"$printed"
  set -m
  "${multinode[@]}" "$@" bash -c "$program; exec sleep 1000" >"$printed" 2>"$messages" &
  pid=$!
  set +m
  for ((i = 0; i < 200; ++i)); do
    (($(grep -c 'mnt:' "$printed") >= 2)) && break
    sleep 0.05
  done
  note
  ((${#spaces[@]} >= 4)) || fail "$when: the job did not come up"
  [[ $signal == INT ]] && to=-
  kill -"$signal" -- "$to$pid"
  wait "$pid" 2>/dev/null
  status=$?
  ((status == 128 + $(kill -l "$signal"))) || fail "$when: exit code $status"
}

"${multinode[@]}" up 2 2>"$messages" >"$printed"
code=$?
if ((code == 77)); then cat "$messages" >&2; exit 77; fi
((code == 0)) || fail "up 2: exit code $code"
works run 1
"${multinode[@]}" up 2 >"$printed" 2>"$messages" || fail "the second up 2: exit code $?"
first=("${spaces[@]}")
works run 1
if (($#)); then "${multinode[@]}" run 2 "$1" >"$printed" 2>"$messages" || fail "run 2 $1: exit code $?"; fi
"${multinode[@]}" down || fail "down: exit code $?"
spaces+=("${first[@]}")
nothing_left "up twice, run and down"
"${multinode[@]}" down || fail "a second down: exit code $?"

"${multinode[@]}" up 2 >"$printed" 2>"$messages" || fail "up 2: exit code $?"
stopped "Ctrl-C in the middle of run" INT run 1
nothing_left "Ctrl-C in the middle of run"
stopped "Ctrl-C in the middle of once" INT once 2x1
nothing_left "Ctrl-C in the middle of once"
stopped "the end of once by SIGTERM" TERM once 2x1
nothing_left "the end of once by SIGTERM"

# Hosts that come up slowly, because there are many of them.
set -m
"${multinode[@]}" up 100 >"$printed" 2>"$messages" &
pid=$!
set +m
until [[ -n $(ls -A "$folders") ]]; do sleep 0.01; done
sleep 0.1
kill -INT -- "-$pid"
wait "$pid" 2>/dev/null
code=$?
((code == 130)) || fail "Ctrl-C in the middle of up 100: exit code $code"
nothing_left "Ctrl-C in the middle of up"

# Killed, it cannot sweep its folder: the next one does.
stopped "once killed" KILL once 2x1
works once 2x1
nothing_left "once after one that was killed"
"${multinode[@]}" up 2 >"$printed" 2>"$messages" || fail "up 2: exit code $?"
stopped "run killed" KILL run 1
works run 1
"${multinode[@]}" down || fail "down: exit code $?"
nothing_left "run killed, run and down"
say "hosts up, down, interrupted and killed: nothing is left"

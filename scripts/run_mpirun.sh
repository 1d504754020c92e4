#!/bin/bash
# Runs a program under mpirun, from any folder, after installing and building what is missing:
#
#   scripts/run_mpirun.sh                                   the main job, build/examples/digits, on 4 ranks
#   scripts/run_mpirun.sh -n 8 build/examples/add_two_layouts [arguments]
#   scripts/run_mpirun.sh --one build/examples/add_two_layouts      one process with 8 devices, without mpirun
#   scripts/run_mpirun.sh --one 4 ...                       with 4 devices
#
# Other options before the program go to mpirun (--timeout, --host, --mca, -x, ...). Paths are relative to the
# caller's folder. Open MPI's settings that root, containers and more ranks than cores need are set where
# you have not set them yourself. MESHWISE_NO_BUILD=1 skips the checks of packages and of the build.
# MESHWISE_MPIEXEC names another MPI's launcher (mpiexec.mpich, for what was built with the preset mpich).
set -uo pipefail
export PATH
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

ranks=4 one= hosts= options=()
while (($#)); do
  case $1 in
    -n | -np | -c | --n | --np) ranks=${2:?"$1 needs a number"}; shift 2 ;;
    --one) one=8; shift; if [[ ${1:-} =~ ^[0-9]+$ ]]; then one=$1; shift; fi ;;
    --host | -host | -H | --hostfile | -hostfile | --machinefile | -machinefile) hosts=1; options+=("$1" "$2"); shift 2 ;;
    --timeout | -timeout | -x | --map-by | --bind-to | --rank-by | --output-filename | --wdir | -wdir | --prefix | --path | \
      --tune | --npernode | -npernode | -N | --report-uri | --stdin) options+=("$1" "${2:-}"); shift 2 ;;
    --mca | -mca | --gmca) options+=("$1" "${2:-}" "${3:-}"); shift 3 ;;
    -h | --help) usage ;;
    --) shift; break ;;
    -*) options+=("$1"); shift ;;
    *) break ;;
  esac
done
[[ $ranks =~ ^[1-9][0-9]*$ ]] || { say "-n needs a number of ranks, not '$ranks'"; exit 2; }
if (($#)); then
  program=$1; shift
else
  program=$build/examples/digits
fi

# A path is the caller's; `build/...` as the documents write it also works from elsewhere.
if [[ $program == */* && $program != /* ]]; then
  if [[ ! -e $program && $program == build/* && $PWD != "$root" ]]; then program=$build/${program#build/}; else program=$PWD/$program; fi
fi

if [[ -z ${MESHWISE_NO_BUILD:-} ]]; then
  install_missing || exit 1
  directory=$(cd "$(dirname "$program")" 2>/dev/null && pwd) && program=$directory/$(basename "$program")
  if [[ $program == "$build"/* ]]; then
    build_targets "${program#"$build"/}" || exit 1
  fi
fi
if [[ $program == */* && ! -x $program ]]; then
  say "there is no program $program"
  exit 127
fi

# True where the user has not said what this Open MPI parameter shall be.
files=("${HOME:-/nonexistent}/.openmpi/mca-params.conf")
unsaid() {
  [[ -v OMPI_MCA_$1 ]] && return 1
  local word file
  for word in ${options[@]+"${options[@]}"}; do [[ $word == "$1" ]] && return 1; done
  for file in "${files[@]}"; do [[ -r $file ]] && grep -q "^[[:space:]]*$1[[:space:]]*=" "$file" && return 1; done
  return 0
}
default() { if unsaid "$1"; then export "OMPI_MCA_$1=$2"; fi; }

if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=${OMPI_ALLOW_RUN_AS_ROOT-1} OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM-1}
fi
# On this machine alone: ranks beyond the cores start, yield and are not bound (two small jobs at once would be
# bound to the same core), and no network is probed. A cluster's own settings stand.
if [[ -z $hosts && -z ${SLURM_JOB_ID:-}${PBS_JOBID:-}${LSB_JOBID:-} ]]; then
  default rmaps_base_oversubscribe 1
  default mpi_yield_when_idle 1
  default hwloc_base_binding_policy none
  if unsaid pml && unsaid btl; then default pml ob1; fi
  # A container's system call filter forbids a process to read another's memory; Open MPI finds out too late.
  seccomp=0
  while read -r key value _; do [[ $key == Seccomp: ]] && seccomp=$value; done </proc/self/status
  if [[ $seccomp == 2 ]]; then default btl_vader_single_copy_mechanism none; fi
fi
[[ -t 1 ]] || export GTEST_COLOR=${GTEST_COLOR-no}  # mpirun gives every rank a terminal
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS-1} OMP_NUM_THREADS=${OMP_NUM_THREADS-1}

if [[ -n $one ]]; then
  export MESHWISE_DEVICES_PER_RANK=${MESHWISE_DEVICES_PER_RANK-$one}
  exec "$program" "$@"
fi

if [[ -n ${MESHWISE_MPIEXEC:-} ]]; then
  theirs=()
  while ((${#options[@]})); do
    case ${options[0]} in
      --timeout | -timeout) export MPIEXEC_TIMEOUT=${options[1]}; options=("${options[@]:2}") ;;
      *) theirs+=("${options[0]}"); options=("${options[@]:1}") ;;
    esac
  done
  exec "$MESHWISE_MPIEXEC" -n "$ranks" ${theirs[@]+"${theirs[@]}"} "$program" "$@"
fi

# mpirun's own accounts of a program that ends with an error are 11 lines, a signal's or not: we say it in one (--verbose gives them back).
quiet=(-q)
for word in ${options[@]+"${options[@]}"}; do [[ $word == --verbose || $word == -v ]] && quiet=(); done

# mpirun stays in our process group, so Ctrl-C reaches it; `<&0` because bash would take its input away.
state=$(mktemp -d "${TMPDIR:-/tmp}/meshwise-run.XXXXXX") || exit 1
mpirun ${quiet[@]+"${quiet[@]}"} -n "$ranks" --report-uri "$state/uri" ${options[@]+"${options[@]}"} "$program" "$@" <&0 &
child=$!

# Ends mpirun, which ends its ranks; gently first. A Ctrl-C it has got itself, a signal to this script alone it has not.
end() {
  local i
  trap '' INT TERM HUP
  for signal in wait TERM KILL; do
    [[ $signal == wait && $1 != INT ]] && continue
    [[ $signal == wait ]] || kill -"$signal" "$child" 2>/dev/null
    for ((i = 0; i < 30; ++i)); do kill -0 "$child" 2>/dev/null || return; sleep 0.1; done
  done
}
interrupted=
for signal in INT TERM HUP; do trap "interrupted=$signal; end $signal" "$signal"; done
# What batch systems send before the end; mpirun hands it to the ranks.
for signal in USR1 USR2; do trap "kill -$signal $child 2>/dev/null" "$signal"; done
wait "$child"
status=$?
while [[ -z $interrupted ]] && ((status > 128)) && kill -0 "$child" 2>/dev/null; do  # it was the wait that a signal ended
  wait "$child"
  status=$?
done
if [[ -n $interrupted ]]; then
  wait "$child" 2>/dev/null
  case $interrupted in INT) status=130 ;; TERM) status=143 ;; HUP) status=129 ;; esac
fi
if [[ -z $interrupted ]] && ((status > 128 && status < 160 && ${#quiet[@]})); then
  say "$(basename "$program"): a rank ended by signal $((status - 128)) ($(kill -l $((status - 128)) 2>/dev/null)), and the job with it"
fi
if ((status == 110 && ${#quiet[@]})); then say "$(basename "$program"): ended at mpirun's --timeout"; fi
# A job that died leaves its shared segments in memory: HOST.UID.JOB.RANK, with the job's number + 1 in hex.
if ((status)) && [[ -s $state/uri ]]; then
  read -r uri <"$state/uri"
  printf -v job %x $((${uri%%.*} + 1))
  rm -f /dev/shm/vader_segment.*."$EUID.$job".*
fi
rm -rf "$state"
exit "$status"

#!/bin/bash
# Runs benchmarks and closes with how many bars hold; from any folder.
#
#   scripts/bench.sh                       all of them
#   scripts/bench.sh redistribution ...    these suites or programs (build/benchmarks/NAME); this one takes about 4 minutes, less than 10
#   scripts/bench.sh --size 64 NAME ...    with arrays of 64 MiB: a quick look, no measurement
#   scripts/bench.sh --list                what there is
#
# A program says its suite, its rank counts or emulated hosts and the peer it needs in comment lines (benchmarks/CMakeLists.txt)
# and prints one JSON line a row with the keys bench, case, ranks, bytes, peer, ours_s, peer_s, ratio, goal, holds. Rows
# without a goal are no bars. All rows are kept in build/bench.jsonl. The suites redistribution, checkpoint and operations also
# have peers that are jobs of their own. A peer that is not there (scripts/install_peers.sh) is said to be skipped. The exit code is 0
# unless a program fails: bars are read, they do not gate.
set -uo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# fact KEY NAME: what the program's source says in its line `// KEY: ...`
fact() { sed -n "1,40s/^\/\/ $1:[[:space:]]*//p" "$root/benchmarks/$2.cpp" | head -n 1; }
suite_of() { local suite; suite=$(fact suite "$1"); echo "${suite:-$1}"; }

all=()
for source in "$root"/benchmarks/*.cpp; do [[ -e $source ]] && all+=("$(basename "$source" .cpp)"); done

size='' asked=()
while (($#)); do
  case $1 in
    --size) size=${2:?"--size needs a number of MiB"}; shift ;;
    --list)
      for name in "${all[@]}"; do [[ $(fact ranks "$name") == none ]] || printf '%-16s %s\n' "$(suite_of "$name")" "$name"; done
      printf '%-16s %s\n' redistribution reshard_jobs
      printf '%-16s %s\n' checkpoint checkpoint_jobs
      printf '%-16s %s\n' operations operations_jobs
      exit 0 ;;
    -*)
      sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | head -n -1
      exit 0 ;;
    *) asked+=("$1") ;;
  esac
  shift
done

names=() jobs='' tree_jobs='' operation_jobs=''
if ((${#asked[@]} == 0)); then jobs=1 tree_jobs=1 operation_jobs=1; fi
for want in ${asked[@]+"${asked[@]}"}; do
  found=
  if [[ $want == redistribution || $want == reshard_jobs ]]; then jobs=1 found=1; fi
  if [[ $want == checkpoint || $want == checkpoint_jobs ]]; then tree_jobs=1 found=1; fi
  if [[ $want == operations || $want == operations_jobs ]]; then operation_jobs=1 found=1; fi
  for name in "${all[@]}"; do
    if [[ $name == "$want" || $(suite_of "$name") == "$want" ]]; then names+=("$name") found=1; fi
  done
  [[ -n $found ]] || { say "there is no benchmark or suite $want (--list)"; exit 2; }
done
if ((${#asked[@]} == 0)); then names=("${all[@]}"); fi

# What is built depends on the peers CMake found.
if [[ -z ${MESHWISE_NO_BUILD:-} ]]; then
  install_missing || exit 1
  build_targets build.ninja || exit 1
fi
runnable=() targets=()
for name in ${names[@]+"${names[@]}"}; do
  if [[ $(fact ranks "$name") == none ]]; then continue; fi
  if grep -qx "$name" "$build/benchmarks/programs" 2>/dev/null; then
    runnable+=("$name") targets+=("benchmarks/$name")
  else
    say "skipped: $name needs $(fact needs "$name") (scripts/install_peers.sh)"
  fi
done
if [[ -n $jobs ]]; then targets+=(benchmarks/reshard_worker); fi
if [[ -n $tree_jobs ]]; then targets+=(benchmarks/checkpoint_worker); fi
if [[ -n $operation_jobs ]]; then targets+=(benchmarks/operations_worker); fi
if [[ -z ${MESHWISE_NO_BUILD:-} ]]; then build_targets "${targets[@]}" || exit 1; fi

export MESHWISE_NO_BUILD=1
rows=$build/bench.jsonl status=0
mkdir -p "$build" && : >"$rows"
run=$root/scripts/run_mpirun.sh

# keep WHAT COMMAND...: its rows are printed and kept; a failure is said.
keep() {
  local what=$1 code
  shift
  "$@" </dev/null | tr -d '\r' | tee -a "$rows"
  code=${PIPESTATUS[0]}
  if ((code == 77)); then return; fi  # it has said why
  ((code == 0)) || { say "$what ended with exit code $code"; status=1; }
}

for name in ${runnable[@]+"${runnable[@]}"}; do
  hosts=$(fact hosts "$name")
  if [[ -n $hosts ]]; then
    read -ra words <<<"$hosts"
    rate=()
    shapes=()
    for word in "${words[@]}"; do if [[ $word =~ ^[0-9]+x[0-9]+$ ]]; then shapes+=("$word"); else rate=("$word"); fi; done
    for shape in "${shapes[@]}"; do
      keep "$name on hosts $shape" "$root/scripts/multinode.sh" once "$shape" ${rate[@]+"${rate[@]}"} "$build/benchmarks/$name" ${size:+"$size"}
    done
    continue
  fi
  ranks=$(fact ranks "$name")
  for n in ${ranks:-4}; do keep "$name on $n ranks" "$run" -n "$n" "$build/benchmarks/$name" ${size:+"$size"}; done
done

# Peers that cannot run in our process: rounds.py lets both jobs work in turns.
against() {
  local peer=$1 goal=$2 n=$3
  shift 3
  keep "reshard_jobs against $peer" python3 "$root/benchmarks/peers/rounds.py" --bench reshard_jobs --peer "$peer" --ranks "$n" --goal "$goal" \
    "${within[@]}" "$run" -n "$n" "$build/benchmarks/reshard_worker" ${size:+"$size"} -- "$@"
}
mpi=$build/peers/mpi/bin/python jax=$build/peers/jax/bin/python peers=$root/benchmarks/peers
has() { "$1" -c "import $2" >/dev/null 2>&1 || { say "skipped: the rows against $3 (scripts/install_peers.sh)"; return 1; }; }
if [[ -n $jobs ]]; then
  side=$(awk -v mib="${size:-512}" 'BEGIN { print int(sqrt(mib * 131072) / 64) * 64 }')
  within=()
  if has "$mpi" mpi4py_fft mpi4py-fft; then
    for n in 2 4 8; do against mpi4py-fft 4 "$n" "$run" -n "$n" "$mpi" "$peers/mpi4py_fft_peer.py" "$side"; done
  fi
  if has "$mpi" heat heat; then
    for n in 2 4 8; do against "heat resplit" 5 "$n" "$run" -n "$n" "$mpi" "$peers/heat_peer.py" "$side"; done
  fi
  if has "$jax" jax JAX; then
    for n in 2 4 8; do against "JAX device_put, $n CPU devices in one process" 8 "$n" "$jax" "$peers/jax_peer.py" "$side" "$n"; done
  fi
  within=(--within)
  for n in 2 4; do
    against "ours without MPI's CMA" 1.1 "$n" "$run" -n "$n" --mca btl_vader_single_copy_mechanism none "$build/benchmarks/reshard_worker" ${size:+"$size"}
  done
  if [[ -x $build/mpich/benchmarks/reshard_worker ]]; then
    against "ours under MPICH" 1.1 2 env MESHWISE_MPIEXEC=mpiexec.mpich "$run" -n 2 "$build/mpich/benchmarks/reshard_worker" ${size:+"$size"}
  else
    say "skipped: ours under MPICH (scripts/install_peers.sh)"
  fi
fi

tree_against() {
  local peer=$1 goal=$2 mib=${size:-512}
  shift 2
  keep "checkpoint_jobs against $peer" python3 "$peers/rounds.py" --bench checkpoint_jobs --peer "$peer" --ranks 4 --goal "$goal" --rounds 5 \
    --case "durable save of $((mib / 2)) float32 arrays of 2 MiB, rows" --bytes $((mib << 20)) --floor "write + fsync, a file a rank" \
    "$run" -n 4 "$build/benchmarks/checkpoint_worker" "$mib" -- "$@" "$mib"
}
if [[ -n $tree_jobs ]]; then
  if H5PY_ALWAYS_USE_MPI=1 has /usr/bin/python3 "h5py, mpi4py; assert h5py.get_config().mpi" "h5py over MPI"; then
    tree_against "h5py over MPI, collective, fsync" 2 "$run" -n 4 /usr/bin/python3 "$peers/h5py_peer.py"
  fi
  if has "$jax" orbax.checkpoint Orbax; then
    tree_against "Orbax, 4 CPU devices in one process" 1.5 "$jax" "$peers/orbax_peer.py" 4
    tree_against "Orbax, 4 CPU devices in one process, no compression" 1.5 "$jax" "$peers/orbax_peer.py" 4 raw
  fi
fi

# operation_against PEER GOAL RANKS NAME MIB CASE ROUNDS COMMAND...: NAME is operations_worker's; --size is what the largest arrays are cut to.
operation_against() {
  local peer=$1 goal=$2 n=$3 name=$4 mib=$5 case=$6 rounds=$7
  shift 7
  if [[ -n $size ]] && ((size < mib)); then mib=$size; fi
  local extra=()
  if [[ $peer == JAX* ]]; then extra=("$n"); fi
  keep "operations_jobs, $case against $peer" python3 "$peers/rounds.py" --bench operations_jobs --peer "$peer" --ranks "$n" --goal "$goal" \
    --rounds "$rounds" --case "$case" --bytes $((mib << 20)) "$run" -n "$n" "$build/benchmarks/operations_worker" "$name" "$mib" -- \
    "$@" "$name" "$mib" ${extra[@]+"${extra[@]}"}
}
if [[ -n $operation_jobs ]]; then
  with_jax='' with_heat=''
  if has "$jax" jax JAX; then with_jax=1; fi
  if has "$mpi" heat heat; then with_heat=1; fi
  # NAME MIB GOAL-JAX GOAL-HEAT ROUNDS CASE; - is no row
  while read -r name mib jax_goal heat_goal rounds case; do
    for n in 2 4; do
      if [[ -n $with_jax && $jax_goal != - ]]; then
        operation_against "JAX, $n CPU devices in one process" "$jax_goal" "$n" "$name" "$mib" "$case" "$rounds" "$jax" "$peers/jax_operations.py"
      fi
      if [[ -n $with_heat && $heat_goal != - ]]; then
        operation_against heat "$heat_goal" "$n" "$name" "$mib" "$case" "$rounds" "$run" -n "$n" "$mpi" "$peers/heat_operations.py"
      fi
    done
  done <<'ROWS'
matmul_rows 64 1.0 1.0 5 matmul of square float32, P(x) times P()
matmul_split 64 - 1.0 5 matmul of square float32, P(x) times P(x)
matmul_blocks 64 1.0 - 5 matmul of square float32, 2-d blocks
add 256 4 2 7 a + b of float32
exp 256 4 2 7 exp of float32
tanh 256 4 - 7 tanh of float32
log 256 4 - 7 log of float32
add_bfloat16 256 4 - 7 a + b of bfloat16
sort 16 - 3 2 sort of float32 over a split axis (2^22: heat takes minutes for 2^26)
small 0 30 20 7 a + b of 16 elements, a call
ROWS
fi

bars=$(grep -cE '"holds": *(true|false)' "$rows")
hold=$(grep -cE '"holds": *true' "$rows")
echo "$hold of $bars bars hold"
exit $status

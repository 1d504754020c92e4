#!/bin/bash
# Runs benchmarks and closes with how many bars hold; from any folder.
#
#   scripts/bench.sh                       all of them
#   scripts/bench.sh redistribution ...    these (build/benchmarks/NAME)
#
# A program says its rank counts in a comment line `// ranks: 2 4 8` (default 4) and prints one JSON line a row with
# the keys bench, case, ranks, bytes, peer, ours_s, peer_s, ratio, goal, holds. Rows without a goal are no bars. All
# rows are kept in build/bench.jsonl. The exit code is 0 unless a program fails: bars are read, they do not gate.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | head -n -1
  exit 0
fi

names=("$@")
if ((${#names[@]} == 0)); then
  for source in "$root"/benchmarks/*.cpp; do [[ -e $source ]] && names+=("$(basename "$source" .cpp)"); done
fi
if [[ -z ${MESHWISE_NO_BUILD:-} ]] && ((${#names[@]})); then
  for name in "${names[@]}"; do
    [[ -e $root/benchmarks/$name.cpp ]] || { say "there is no benchmark $name"; exit 2; }
  done
  install_missing || exit 1
  build_targets "${names[@]/#/benchmarks/}" || exit 1
fi

export MESHWISE_NO_BUILD=1
rows=$build/bench.jsonl status=0
mkdir -p "$build" && : >"$rows"
for name in ${names[@]+"${names[@]}"}; do
  ranks=$(sed -n '1,40s/^\/\/ ranks:[[:space:]]*//p' "$root/benchmarks/$name.cpp" | head -n 1)
  for n in ${ranks:-4}; do
    "$root/scripts/run_mpirun.sh" -n "$n" "$build/benchmarks/$name" | tee -a "$rows"
    code=${PIPESTATUS[0]}
    ((code == 0)) || { say "$name on $n ranks ended with exit code $code"; status=1; }
  done
done
bars=$(grep -cE '"holds": *(true|false)' "$rows")
hold=$(grep -cE '"holds": *true' "$rows")
echo "$hold of $bars bars hold"
exit $status

#!/bin/bash
# check_scaling.sh: scripts/scaling.sh prints its tables and writes the CSV it documents. Builds nothing: exit code 77, skipped, where
# benchmarks/scaling is not there.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[[ -x $build/benchmarks/scaling ]] || { say "skipped: $build/benchmarks/scaling is not built"; exit 77; }
place=$(mktemp -d "${TMPDIR:-/tmp}/meshwise-scaling.XXXXXX") || exit 1
trap 'rm -rf "$place"' EXIT

fail() {
  say "$*"
  cat "$place"/* >&2
  exit 1
}
MESHWISE_NO_BUILD=1 "$root/scripts/scaling.sh" --size 1 --ranks "1 2" --hosts "" --csv "$place/csv" >"$place/text" 2>"$place/messages" || fail "exit code $?"
# Four operations, each strong and weak, each on one rank and on two.
[[ $(head -n 1 "$place/csv") == "mode,operation,place,ranks,bytes,seconds,speedup,efficiency" ]] || fail "another header"
(($(wc -l <"$place/csv") == 17)) || fail "not a header and 16 lines"
(($(grep -cE '^(strong|weak),"[^"]+",one host,[12],[0-9]+,[0-9.e+-]+,[0-9.]+,[0-9.]+$' "$place/csv") == 16)) || fail "lines of another form"
(($(grep -c '^strong,.*,1,.*,1.0000,1.0000$' "$place/csv") == 4)) || fail "a first line is not what the others are measured against"
for mode in strong weak; do
  (($(grep -c "^$mode scaling, .*, float64, 1 MiB" "$place/text") == 4)) || fail "not four tables of $mode scaling"
done
(($(grep -cE '^  one host +[12] +[0-9.]+ ms +[0-9.]+ +[0-9]+%$' "$place/text") == 16)) || fail "rows of another form"
awk -F'"' '
  function off(a, b) { return (a - b) ^ 2 > 1e-7 }
  { split($3, f, ",") }  # place, ranks, bytes, seconds, speed-up, efficiency from 2 on
  f[3] == 1 { first[$1 $2] = f[5] }
  /^strong/ { size[$2] = f[4] }
  /^weak/ && f[4] != f[3] * size[$2] { wrong = 1 }
  off(f[6], first[$1 $2] / f[5] * (/^weak/ ? f[3] : 1)) || off(f[7], f[6] / f[3]) { wrong = 1 }
  END { exit wrong }' <(tail -n +2 "$place/csv") || fail "sizes, speed-ups or efficiencies that do not follow from the times"

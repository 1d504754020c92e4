#!/bin/bash
# Strong and weak scaling of typical operations over ranks and hosts: tables as text, and the numbers as CSV.
#
#   scripts/scaling.sh                            1, 2 and 4 ranks here; 2 emulated hosts of 1 and 2 ranks, and 4 of 1
#   scripts/scaling.sh --ranks "1 2 4 8"          these numbers of ranks on this machine
#   scripts/scaling.sh --hosts "1x1 2x2" --rate 1gbit   these hosts x ranks on each (scripts/multinode.sh); "" is none
#   scripts/scaling.sh --size 256 --csv FILE      arrays of 256 MiB (default 64); where the CSV goes (default build/scaling.csv)
#   scripts/scaling.sh --here                     ranks of the job this runs in (Slurm, PBS, ...) instead: --ranks counts them
#
# Strong: one array, shared by ever more ranks; weak: an array of that size for each of them. Speed-up and efficiency are against
# the first line of a table. Emulated hosts share this machine's cores: beyond them only the cost of a network shows.
set -uo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ranks="1 2 4" hosts="2x1 2x2 4x1" rate='' size=64 csv=$build/scaling.csv
while (($#)); do
  case $1 in
    --ranks) ranks=${2-}; shift ;;
    --hosts) hosts=${2-}; shift ;;
    --rate) rate=${2-}; shift ;;
    --size) size=${2-}; shift ;;
    --csv) csv=${2:?"--csv needs a file"}; shift ;;
    --here) hosts= ;;
    *)
      sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | head -n -1 >&2
      exit 2 ;;
  esac
  shift
done
[[ $size =~ ^[1-9][0-9]*$ ]] || { say "--size is a number of MiB, not '$size'"; exit 2; }
if [[ -z ${MESHWISE_NO_BUILD:-} ]]; then
  install_missing && build_targets benchmarks/scaling || exit 1
fi
export MESHWISE_NO_BUILD=1

rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
status=0
# measure PLACE COMMAND...: PLACE,MODE,OPERATION,RANKS,BYTES,SECONDS a line
measure() {
  local place=$1 mode output code
  shift
  for mode in strong weak; do
    output=$("$@" "$build/benchmarks/scaling" "$mode" "$size" </dev/null)
    code=$?
    if ((code == 77)); then return; fi  # it has said why
    if ((code)); then say "$place ended with exit code $code"; status=1; return; fi
    sed -nE 's/^\{"bench": "scaling", "case": "([a-z]+): ([^"]*)", "ranks": ([0-9]+), "bytes": ([0-9]+),.*"ours_s": ([0-9.e+-]+),.*/'"$place"'|\1|\2|\3|\4|\5/p' \
      <<<"${output//$'\r'/}" >>"$rows"
  done
}
for n in $ranks; do measure "one host" "$root/scripts/run_mpirun.sh" -n "$n"; done
for shape in $hosts; do measure "$shape hosts" "$root/scripts/multinode.sh" once "$shape" ${rate:+"$rate"}; done

mkdir -p "$(dirname "$csv")"
echo "mode,operation,place,ranks,bytes,seconds,speedup,efficiency" >"$csv"
awk -F'|' -v csv="$csv" -v size="$size" '
  { key = $2 "|" $3
    if (!(key in lines)) order[++tables] = key
    line[key, ++lines[key]] = $0 }
  END {
    for (mode = 1; mode <= 2; ++mode)
      for (t = 1; t <= tables; ++t) {
        split(order[t], name, "|")
        if (name[1] != (mode == 1 ? "strong" : "weak")) continue
        printf "\n%s scaling, %s, float64, %d MiB %s\n", name[1], name[2], size, mode == 1 ? "in all" : "a rank"
        printf "  %-12s %6s %12s %10s %11s\n", "where", "ranks", "time", "speed-up", "efficiency"
        for (i = 1; i <= lines[order[t]]; ++i) {
          split(line[order[t], i], f, "|")
          if (i == 1) { first = f[6]; ranks = f[4] }
          faster = first / f[6] * (mode == 1 ? 1 : f[4] / ranks)
          efficiency = faster * ranks / f[4]
          printf "  %-12s %6d %9.2f ms %10.2f %10.0f%%\n", f[1], f[4], f[6] * 1000, faster, efficiency * 100
          printf "%s,\"%s\",%s,%d,%.0f,%s,%.4f,%.4f\n", f[2], f[3], f[1], f[4], f[5], f[6], faster, efficiency >>csv
        }
      }
  }' "$rows"
echo
echo "as CSV: $csv"
exit $status

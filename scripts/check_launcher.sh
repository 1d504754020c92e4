#!/bin/bash
# check_launcher.sh [SECONDS]: scripts/run_mpirun.sh works from any folder and costs little where nothing is to be built:
# a small job is over within SECONDS (2), in the best of three runs. It builds and installs nothing itself: exit code 77,
# skipped, where the build folder (MESHWISE_BUILD_DIR) or the packages are not up to date.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
unset MESHWISE_NO_BUILD MESHWISE_CMAKE_ARGS
export MESHWISE_BUILD_DIR=$build
limit=${1:-2}

skip() { say "skipped: $*"; exit 77; }
[[ -f $build/build.ninja ]] || skip "$build is not a build folder of Ninja's"
elsewhere=$(mktemp -d "${TMPDIR:-/tmp}/meshwise-elsewhere.XXXXXX") || exit 1
trap 'rm -rf "$elsewhere"' EXIT
# A dry run goes no further than the look at the folders, which comes before every run: so without that statement.
sed '/^build build.ninja:/,/^$/d' "$build/build.ninja" >"$elsewhere/build.ninja"
[[ $(ninja -n -C "$build" -f "$elsewhere/build.ninja" examples/first 2>&1) == *"no work to do"* ]] || skip "$build/examples/first is not up to date"
mkdir "$elsewhere/tools" "$elsewhere/a folder"
printf '#!/bin/sh\nexit 1\n' >"$elsewhere/tools/apt-get"
chmod +x "$elsewhere/tools/apt-get"
PATH=$elsewhere/tools:$PATH
cd "$elsewhere/a folder" || exit 1
ln -s "$build" tree

took=
run() {
  local start=${EPOCHREALTIME/./} output status
  output=$("$root/scripts/run_mpirun.sh" -n 4 "$1" 2>messages)
  status=$?
  took=$((${EPOCHREALTIME/./} - start))
  if grep -q 'packages' messages; then skip "packages are missing"; fi
  if grep -q 'building\|configuring' messages; then skip "$build was not up to date"; fi
  if ((status == 0)) && [[ $output == *"sum 992"* ]]; then return; fi
  say "from $PWD: $1 ended with $status and printed"
  printf '%s\n' "$output" "$(<messages)" >&2
  exit 1
}

run tree/examples/first  # the caller's path, and no path of the build folder's: nothing is looked after
best=
for program in build/examples/first "$build/examples/first" build/examples/first; do
  run "$program"
  say "$program: $((took / 1000)) ms"
  if [[ -z $best ]] || ((took < best)); then best=$took; fi
done
if ((best > limit * 1000000)); then
  say "the best of three runs took $((best / 1000)) ms; at most $limit s are wanted where nothing is to be built"
  exit 1
fi

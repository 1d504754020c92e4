#!/bin/bash
# How long the library takes to build from nothing, and how large it is; from any folder.
#
#   scripts/check_size.sh                           static, as it is installed by default
#   scripts/check_size.sh -DBUILD_SHARED_LIBS=ON    with any options for CMake
#
# Configures and builds the library alone (no tests, examples, benchmarks or command) in a folder of its own, 2 jobs, without ccache, and
# prints two JSON lines: the seconds (cpu_s are those of CPU: half of them is what two idle cores need), and the bytes of the library
# without debugging information. The exit code is 1 where a goal is missed.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

most_seconds=480 most_bytes=$((25 << 20))
# shellcheck disable=SC2154  # common.sh's
folder=$(mktemp -d "${TMPDIR:-/tmp}/meshwise-size.XXXXXX") log=$folder/log
trap 'rm -rf "$folder"' EXIT
failed() { tail -n 20 "$log" >&2; say "the build failed"; exit 2; }

TIMEFORMAT='%R %U %S'
# bash's own clock, of the children too
read -r seconds user system < <({ time {
  cmake -S "$root" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMESHWISE_DEVELOPER=OFF -DMESHWISE_COMMAND=OFF \
    -DMESHWISE_CCACHE=OFF "$@" >"$log" 2>&1 && cmake --build "$folder/build" --target meshwise -j 2 >>"$log" 2>&1 && touch "$folder/built"
}; } 2>&1)
[[ -e $folder/built ]] || failed

library=$(find "$folder/build" -maxdepth 1 -name 'libmeshwise.*' -type f | head -n 1)
case $library in *.a) strip=--strip-debug ;; *) strip=--strip-unneeded ;; esac
strip "$strip" -o "$folder/stripped" "$library"
bytes=$(stat -c %s "$folder/stripped")

awk -v s="$seconds" -v u="$user" -v k="$system" -v most="$most_seconds" -v bytes="$bytes" -v most_bytes="$most_bytes" -v name="$(basename "$library")" 'BEGIN {
  truth[0] = "false"; truth[1] = "true"
  printf "{\"bench\": \"check_size\", \"case\": \"the library from clean, 2 jobs, no ccache\", \"seconds\": %.0f, \"cpu_s\": %.0f, \"goal\": %d, \"holds\": %s}\n", s, u + k, most, truth[s <= most]
  printf "{\"bench\": \"check_size\", \"case\": \"%s, stripped\", \"bytes\": %d, \"goal\": %d, \"holds\": %s}\n", name, bytes, most_bytes, truth[bytes <= most_bytes]
  exit !(s <= most && bytes <= most_bytes)
}'

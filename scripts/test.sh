#!/bin/bash
# Installs and builds what is missing, then runs the tests; from any folder.
#
#   scripts/test.sh                    the default suite: all but the label heavy
#   scripts/test.sh -L 'pure|one'      the everyday tests: one process each, no mpirun
#   scripts/test.sh -R reshard -V      anything that ctest understands
#
# MESHWISE_CMAKE_ARGS="-DMESHWISE_SANITIZE=address,undefined" MESHWISE_BUILD_DIR=build-asan scripts/test.sh
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | head -n -1
  exit 0
fi

if [[ -z ${MESHWISE_NO_BUILD:-} ]]; then
  install_missing || exit 1
  build_targets || exit 1
fi
selection=(-LE '^heavy$')
for word in "$@"; do
  case $word in -L | -LE | --label-regex | --label-exclude | --rerun-failed | -L* ) selection=() ;; esac
done
exec ctest --test-dir "$build" -j "$(nproc)" --output-on-failure --no-tests=error ${selection[@]+"${selection[@]}"} "$@"

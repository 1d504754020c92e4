#!/bin/bash
# The quick checks of the source text: layers, sizes, format. From any folder.
#
#   scripts/check.sh            layers; format where clang-format is installed
#   scripts/check.sh --fix      formats the files in place
#   scripts/check.sh --tidy     clang-tidy as well (needs a configured build; minutes)
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root" || exit 1
status=0
python3 scripts/check_layers.py || status=1
python3 scripts/check_readme.py || status=1

mapfile -t files < <(git ls-files -co --exclude-standard '*.hpp' '*.cpp')
if command -v clang-format >/dev/null; then
  if [[ ${1:-} == --fix ]]; then
    clang-format -i "${files[@]}"
  else
    mapfile -t unformatted < <(clang-format --dry-run "${files[@]}" 2>&1 | sed -n 's/^\([^:]*\):[0-9].*clang-format-violations.*/\1/p' | sort -u)
    if ((${#unformatted[@]})); then
      echo "not formatted (scripts/check.sh --fix):"
      printf '  %s\n' "${unformatted[@]}"
      status=1
    fi
  fi
else
  say "clang-format is not installed: format not checked"
fi

if [[ ${1:-} == --tidy ]]; then
  tidy=$(command -v clang-tidy-19 || command -v clang-tidy) || { say "clang-tidy is not installed"; exit 1; }
  printf '%s\n' "${files[@]}" | grep '^src/.*\.cpp$' | xargs -P "$(nproc)" -n 1 "$tidy" --quiet -p "$build" || status=1
fi
exit $status

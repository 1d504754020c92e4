#pragma once
// What stands around an axis, by NumPy's definition, one step at a time from outside to inside.

#include <cstdint>
#include <optional>

#include "meshwise/plan/pad_mode.hpp"

namespace meshwise::testing {

/// The element of an axis of length n that stands at position i; -1: beyond the ends, nothing.
inline std::int64_t pad_element(std::int64_t i, std::int64_t n, std::optional<PadMode> mode) {
  while (i < 0 || i >= n) {
    if (!mode || n == 0) return -1;
    if (*mode == PadMode::edge) return i < 0 ? 0 : n - 1;
    if (*mode == PadMode::wrap)
      i += i < 0 ? n : -n;
    else if (*mode == PadMode::symmetric)
      i = i < 0 ? -1 - i : 2 * n - 1 - i;
    else if (n == 1)
      i = 0;
    else
      i = i < 0 ? -i : 2 * (n - 1) - i;
  }
  return i;
}

}  // namespace meshwise::testing

#pragma once
// Axis lists as operations take them.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "meshwise/base/error.hpp"
#include "meshwise/base/shape.hpp"

namespace meshwise::detail {

/// Local. Axes counted from the front, in the given order. Throws: IndexError (out of range, or named twice).
inline std::vector<std::int64_t> distinct_axes(std::vector<std::int64_t> axes, std::int64_t ndim, const char* operation) {
  for (auto& axis : axes) axis = normalize_axis(axis, ndim, operation);
  auto sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    throw IndexError(fmt::format("{}: axes ({}) name an axis twice", operation, fmt::join(axes, ", ")));
  return axes;
}

}  // namespace meshwise::detail

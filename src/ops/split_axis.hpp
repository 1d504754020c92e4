#pragma once
// An axis that is cut over devices, as operations see it that work along it part by part.

#include <cstdint>

#include "array/layout.hpp"
#include "meshwise/array/array.hpp"

namespace meshwise::detail {

/// Local. Into which parts the axis of a committed array is cut; one where it is whole, or the array is uncommitted.
inline AxisSplit split_of(const Array& x, std::int64_t axis) {
  if (!x.committed()) return {};
  const auto& entries = x.sharding().spec().entries();
  if (axis >= std::ssize(entries)) return {};
  return split_over(x.sharding().mesh(), entries[static_cast<std::size_t>(axis)].axes());
}

/// Local. Work along the axis can be done part by part: it is cut, and the rules of its mesh allow that.
inline bool works_in_parts(const Array& x, std::int64_t axis) { return split_of(x, axis).parts > 1 && !x.sharding().mesh().is_explicit(); }

/// Local. Part t of `parts` over n elements begins at floor(t n / parts); the first part that begins at `start`.
inline std::int64_t begin_of_part(std::int64_t part, std::int64_t n, std::int64_t parts) { return part * n / parts; }
inline std::int64_t part_that_begins_at(std::int64_t start, std::int64_t n, std::int64_t parts) {
  return n == 0 ? 0 : (start * parts + n - 1) / n;
}

}  // namespace meshwise::detail

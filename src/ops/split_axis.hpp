#pragma once
// An axis that is cut over devices, as operations see it that work along it part by part.

#include <cstdint>

#include "meshwise/array/array.hpp"

namespace meshwise::detail {

/// Local. Into which parts the axis of a committed array is cut; one where it is whole, or the array is uncommitted.
inline AxisSplit split_of(const Array& x, std::int64_t axis) { return x.committed() ? x.sharding().split(axis) : AxisSplit{}; }

/// Local. Work along the axis can be done part by part: it is cut, and the rules of its mesh allow that.
inline bool works_in_parts(const Array& x, std::int64_t axis) { return split_of(x, axis).parts > 1 && !x.sharding().mesh().is_explicit(); }

/// Local. The first part of n elements that begins at `start` (meshwise::part says where a part begins).
inline std::int64_t part_that_begins_at(std::int64_t start, std::int64_t n, std::int64_t parts) {
  return n == 0 ? 0 : (start * parts + n - 1) / n;
}

}  // namespace meshwise::detail

#pragma once
// Arithmetic on boxes, axis by axis. Local.

#include <cstdint>

#include "meshwise/base/shape.hpp"

namespace meshwise::detail {

/// Local. The part that two boxes have in common; empty ranges where there is none.
inline Index intersection(const Index& a, const Index& b) {
  Index common;
  for (std::int64_t axis = 0; axis < a.ndim(); ++axis) common.push_back(intersect(a[axis], b[axis]));
  return common;
}

/// Local. A box as it is seen from the first element of `origin`, and back.
inline Index relative(const Index& box, const Index& origin) {
  Index moved;
  for (std::int64_t axis = 0; axis < box.ndim(); ++axis)
    moved.push_back({box[axis].start - origin[axis].start, box[axis].stop - origin[axis].start});
  return moved;
}
inline Index moved_to(const Index& box, const Index& origin) {
  Index moved;
  for (std::int64_t axis = 0; axis < box.ndim(); ++axis)
    moved.push_back({box[axis].start + origin[axis].start, box[axis].stop + origin[axis].start});
  return moved;
}

}  // namespace meshwise::detail

#pragma once
// Order: sorting, searching in what is sorted, and distinct values.
//
//   sort(float32[8@x,16@y]) along axis 0 -> float32[8@x,16@y]        NaN comes last, or first where it descends; -0 and 0 are equal
//
// Equal elements keep their order. Complex numbers compare by their real parts, then by their imaginary ones. On Explicit axes the axis worked on must be whole.
// All throw IndexError (an axis out of range), ShapeError, DtypeError, ShardingTypeError, DonatedError.

#include <cstdint>
#include <optional>

#include "meshwise/array/array.hpp"

namespace meshwise {

/// Collective. x's elements in order along an axis; and where along the axis each of them was: int32, int64 where the axis is 2^31 long or longer.
Array sort(const Array& x, std::int64_t axis = -1, bool descending = false);
Array argsort(const Array& x, std::int64_t axis = -1, bool descending = false);

enum class Side : std::uint8_t { left, right };
/// Collective. How many elements of the ascending x [n] come before each value (right: or equal it): [n], any shape -> int32 of that shape. `sorter` holds the
/// indices that sort x.
Array searchsorted(const Array& x, const Array& values, Side side = Side::left, const std::optional<Array>& sorter = {});
/// Collective. In which of the intervals between the bins' edges [n] each element lies: i where edges[i - 1] <= x < edges[i] (right: < and <=); edges may descend.
Array digitize(const Array& x, const Array& edges, bool right = false);

struct Unique {
  Array values, indices, inverse, counts;
};
/// Synchronising. x's distinct values in ascending order [k], each NaN one of its own; where each stands first in row-major order [k], int32; which of them each element
/// is, in x's shape; how often each occurs [k]. The result is whole on every device.
Array unique_values(const Array& x);
Unique unique_all(const Array& x);
struct UniqueCounts {
  Array values, counts;
};
UniqueCounts unique_counts(const Array& x);
struct UniqueInverse {
  Array values, inverse;
};
UniqueInverse unique_inverse(const Array& x);

}  // namespace meshwise

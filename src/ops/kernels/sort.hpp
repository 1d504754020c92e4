#pragma once
// Sorting of one block along an axis, stable; NaN last, or first where it descends.

#include <cstdint>

#include "meshwise/array/local_array.hpp"

namespace meshwise::detail {

/// Local. x's values in order along the axis.
LocalArray run_sort(const LocalArray& x, std::int64_t axis, bool descending);

/// Local. Where along the axis each of them was, in an integer dtype.
LocalArray run_argsort(const LocalArray& x, std::int64_t axis, bool descending, Dtype dtype);

/// Local. Sorts a dense vector where it is.
void sort_in_place(const LocalArray& x, bool descending);

/// Local. Sorts dense places (int32, int64) by the values they go with, as many, which are used up.
void sort_places(const LocalArray& values, const LocalArray& places, bool descending);

/// Local. Adds to the dense `counts` (int32, int64) of each value how many elements of [n] come before it (`or_equal`: or are equal to it), which ascends, or
/// descends; values of the same dtype. Where it descends the others are those that count.
void add_counts_before(const LocalArray& sorted, const LocalArray& values, bool or_equal, bool descends, const LocalArray& counts);

}  // namespace meshwise::detail

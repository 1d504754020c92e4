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

/// Local. Of each value how many elements of the ascending [n] come before it (`right`: or are equal to it); values of the same dtype.
LocalArray run_searchsorted(const LocalArray& sorted, const LocalArray& values, bool right, Dtype dtype);

}  // namespace meshwise::detail

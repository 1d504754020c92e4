#pragma once
// Running totals of one block along an axis.

#include <cstdint>

#include "meshwise/array/local_array.hpp"

namespace meshwise::detail {

enum class ScanOp : std::uint8_t { sum, prod };

/// Local. The dtype in which totals of x's elements are kept until they are rounded to `result`: float64 for floats, complex128 for complex numbers.
Dtype scan_accumulator(Dtype result);

/// Local. The totals of x along the axis, in the accumulator's dtype: the axis is 1 long.
LocalArray run_totals(ScanOp op, const LocalArray& x, std::int64_t axis, Dtype result);

/// Local. Running totals of x along the axis, each rounded to `result`, going on from the totals of the first `parts` indices of `before` (shaped as x, but for
/// that axis; accumulator's dtype).
LocalArray run_scan(ScanOp op, const LocalArray& x, std::int64_t axis, Dtype result, const LocalArray* before, std::int64_t parts);

}  // namespace meshwise::detail

#pragma once
// Running totals and differences along an axis.
//
//   cumulative_sum(int8[8@x,16]) along axis 0 -> int32[8@x,16]: each device adds up its own part, then what the parts before it have.
//
// On Explicit axes the axis worked on must be whole. All throw IndexError (an axis out of range), DtypeError, ShardingTypeError, DonatedError.

#include <cstdint>
#include <optional>

#include "meshwise/array/array.hpp"

namespace meshwise {

/// Collective. Element i of the result is the sum (product) of x's elements 0..i along the axis; with `include_initial` of elements 0..i-1, and one more, so that [n]
/// gives [n + 1] that begins with 0 (1). Without an axis x has one. Sums of small integers are int32 or uint32, of bool int32; products keep their dtype (bool: int32).
/// float32 and the 16-bit floats accumulate in float64. Throws: ShapeError where no axis is named and x has not one.
Array cumulative_sum(const Array& x, std::optional<std::int64_t> axis = {}, std::optional<Dtype> dtype = {}, bool include_initial = false);
Array cumulative_prod(const Array& x, std::optional<std::int64_t> axis = {}, std::optional<Dtype> dtype = {}, bool include_initial = false);
/// Collective. x[i + 1] - x[i] along an axis, n times: [m] -> [m - n] (bool: whether they differ). What is prepended and appended is joined to x first.
/// Throws: ShapeError for a scalar or a negative n.
Array diff(const Array& x, std::int64_t axis = -1, std::int64_t n = 1, const std::optional<Array>& prepend = {},
           const std::optional<Array>& append = {});

}  // namespace meshwise

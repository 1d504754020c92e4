#pragma once
// Reductions over any axes (SEMANTICS 6.2): partial results where the reduced axes are split, combined once and given to every replica.
//
//   sum(float32[8@data,16@model], {0}) -> float32[16@model]      mean(x) -> float32[]       max(x, {-1}, true) -> float32[8@data,1]
//
// `axes`: any list, negative ones from the back; empty means all. Sums and products of 8- and 16-bit integers are int32 or uint32, bool counts in
// int32. float32 and the 16-bit floats accumulate in float64 and round once. Integer results and extremes do not depend on the layout. Float sums are the
// same bits on every replica and at every repeat. On any layout a sum of n floats is, before it rounds to a narrower dtype, within (n - 1) * eps / 2 * sum|x|
// of exact (eps is float64's; of complex numbers each part is): two layouts differ by at most twice that, usually far less, as blocks add up pairwise.
// All throw IndexError (an axis out of range, or twice), DtypeError, DonatedError.

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwise/array/array.hpp"

namespace meshwise {

/// Collective. Of nothing: 0 and 1. With `dtype`, elements convert to it first and the result has it.
Array sum(const Array& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false, std::optional<Dtype> dtype = {});
Array prod(const Array& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false, std::optional<Dtype> dtype = {});
/// Collective. Integers give float32, 64-bit ones float64. Of nothing: NaN.
Array mean(const Array& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false);
/// Collective. Mean squared distance from the mean, over (count - correction), and its root; NaN where that is not positive.
Array var(const Array& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false, double correction = 0);
Array stddev(const Array& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false, double correction = 0);
/// Collective. NaN if there is one. Throws: ShapeError for zero elements; DtypeError for complex numbers, which have no order.
Array max(const Array& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false);
Array min(const Array& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false);
/// Collective. -> bool. Of nothing: true and false.
Array all(const Array& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false);
Array any(const Array& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false);
/// Collective. -> int32, int64 where 2^31 elements or more are counted.
Array count_nonzero(const Array& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false);
/// Collective. Where the largest (smallest) element is along `axis`, or in row-major order over all axes; the first of equals, the first NaN if there is
/// one. -> int32, int64 where the extent reaches 2^31. Throws: ShapeError for zero elements; DtypeError for complex numbers.
Array argmax(const Array& x, std::optional<std::int64_t> axis = {}, bool keepdims = false);
Array argmin(const Array& x, std::optional<std::int64_t> axis = {}, bool keepdims = false);

}  // namespace meshwise

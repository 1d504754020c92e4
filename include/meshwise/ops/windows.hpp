#pragma once
// Reductions of windows that slide over an array (lax.reduce_window, pooling): of a cut axis each device fetches only the elements that its windows lack.
//
//   window_max(float32[1000@x,64], {3, 1}) -> float32[998@x,64]        window_mean(x, {2, 2}, {2, 2}): blocks of four

#include <cstdint>
#include <vector>

#include "meshwise/array/array.hpp"

namespace meshwise {

/// Local. Which windows there are of an axis of n elements: valid, those that lie in it, (n - size) / stride + 1 of them; same, ceil(n / stride), as much
/// beyond either end. What is beyond the ends counts nowhere, in a mean neither.
enum class Padding : std::uint8_t { valid, same };

/// Collective. The sum of each window, sizes[d] long along axis d, strides[d] (1 if empty) after the one before; dtypes and sums as `sum`, the same bits in every layout.
/// The result is cut as x is. All throw ShapeError unless there is a size, and a stride, of 1 or more for each axis; DtypeError; DonatedError.
Array window_sum(const Array& x, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides = {},
                 Padding padding = Padding::valid);
/// Collective. The mean of each window's elements, dtypes as `mean`.
Array window_mean(const Array& x, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides = {},
                  Padding padding = Padding::valid);
/// Collective. The largest, the smallest; NaN if there is one; not of complex numbers, which have no order.
Array window_max(const Array& x, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides = {},
                 Padding padding = Padding::valid);
Array window_min(const Array& x, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides = {},
                 Padding padding = Padding::valid);

}  // namespace meshwise

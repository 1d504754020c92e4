#pragma once
// Sums of floats as sums of integers: exact but for what is 2^-86 of the largest magnitude or less, so that no order or grouping shows.

#include <cstdint>
#include <vector>

#include "meshwise/array/local_array.hpp"

namespace meshwise::detail {

/// Local. The totals of x's real (of complex x: real and imaginary) elements over the axes `reduced`; `largest`, x's shape but 1 long there, has the largest
/// magnitude over the whole array of what is summed. Returns 32 opaque bytes for each part of each total, of `shape` and an axis more.
LocalArray run_fixed_sum(const LocalArray& x, const LocalArray& largest, const std::vector<bool>& reduced, const Shape& shape);

/// Local. Adds totals of other elements, 32 bytes each.
void merge_fixed_sums(std::byte* totals, const std::byte* others, std::int64_t count);
inline constexpr std::size_t fixed_sum_bytes = 32;

/// Local. The totals as float64 or complex128, rounded once; NaN and infinities as sums have them.
LocalArray finish_fixed_sums(const LocalArray& totals, const Shape& shape);

}  // namespace meshwise::detail

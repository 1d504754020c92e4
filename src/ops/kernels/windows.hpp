#pragma once
// Reductions of the windows of one block, axis after axis.

#include <cstdint>
#include <span>

#include "meshwise/array/local_array.hpp"

namespace meshwise::detail {

enum class WindowOp : std::uint8_t { sum, mean, max, min };

/// Local. The windows of a block along an axis: the first begins at element `first`, which may be before the block's; what is beyond the block counts nowhere.
struct WindowLine {
  std::int64_t size = 1, stride = 1, first = 0, count = 0;
};

/// Local. The reductions, one line an axis of x, dense, in `result`; each element is taken in the order of its place, and rounding is done once.
LocalArray run_windows(WindowOp op, const LocalArray& x, std::span<const WindowLine> lines, Dtype result);

}  // namespace meshwise::detail

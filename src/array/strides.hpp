#pragma once
// Arithmetic on strides that windows in memory and recipes share.

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwise/base/shape.hpp"

namespace meshwise::detail {

/// Local. Strides under which a strided window of shape `from` reads, in row-major order, as shape `to`, if there are any (NumPy's rule for a
/// reshape without a copy). Both shapes have the same number of elements, not 0.
std::optional<PerAxis<std::int64_t>> reshape_strides(const Shape& from, const PerAxis<std::int64_t>& strides, const Shape& to);

}  // namespace meshwise::detail

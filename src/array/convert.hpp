#pragma once
// Conversion between element types, the one rule of astype (SEMANTICS 3.3).

#include <cstddef>
#include <cstdint>

#include "meshwise/base/dtype.hpp"

namespace meshwise::detail {

/// Local. Converts `count` dense values: floats round once (float64 to 16 bits by way of float32, as JAX does), saturate in integers (NaN is 0); integers wrap; a complex gives its real part;
/// anything that is not zero is true. `in` and `out` do not overlap.
void convert_values(Dtype from, const std::byte* in, Dtype to, std::byte* out, std::int64_t count);

}  // namespace meshwise::detail

#pragma once
// Floats and complex numbers: what sums of are rounded.

#include "meshwise/base/dtype.hpp"

namespace meshwise::detail {

inline bool is_inexact(Dtype dtype) { return is_floating(dtype) || is_complex(dtype); }

}  // namespace meshwise::detail

#pragma once

#include <cstdint>

#include "meshwise/base/dtype.hpp"

namespace meshwise::detail {

/// Local. The dtype of positions below, and counts up to, `extent`.
inline Dtype index_dtype(std::int64_t extent) { return extent >= std::int64_t{1} << 31 ? int64 : int32; }

}  // namespace meshwise::detail

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "meshwise/array/local_array.hpp"

namespace meshwise::detail {

/// Local. Values of this array's block read under another shape: strides in elements from its first one.
inline LocalArray window(const LocalArray& x, Shape shape, PerAxis<std::int64_t> strides) {
  return {std::move(shape), x.dtype(), x.block(), x.block() ? static_cast<std::size_t>(x.data() - x.block()->data()) : 0,
          std::move(strides)};
}

}  // namespace meshwise::detail

#pragma once
// Results of which each element comes from one device alone.

#include <cstdint>

#include "array/dispatch.hpp"

namespace meshwise::detail {

/// Local. Combines outcomes in which every element is one device's, and bytes of zeros on the others: exact for every dtype.
inline Reduction either(Dtype dtype) {
  Reduction out;
  out.partials = dtype;
  out.combine = [item = static_cast<std::int64_t>(itemsize(dtype))](std::byte* acc, const std::byte* in, std::int64_t count) {
    for (std::int64_t i = 0; i < count * item; ++i) acc[i] |= in[i];
  };
  return out;
}

}  // namespace meshwise::detail

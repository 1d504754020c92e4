#pragma once
// What a call is, hashed: everything that must agree between ranks, and nothing else.

#include "array/state.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

inline std::uint64_t hash_shape(const Shape& shape) {
  std::uint64_t h = static_cast<std::uint64_t>(shape.ndim());
  for (const auto n : shape) h = mix(h, static_cast<std::uint64_t>(n));
  return h;
}

/// Local. Shape, dtype, sharding, commitment of an array; not its values.
inline std::uint64_t hash_type(const Array& x) {
  const auto& s = *x.state();
  return mix(mix(hash_shape(s.shape), static_cast<std::uint64_t>(s.dtype)), mix(s.sharding.hash(), s.committed ? 1 : 0));
}

}  // namespace meshwise::detail

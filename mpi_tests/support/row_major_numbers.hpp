#pragma once
// Arrays whose elements are their own row-major numbers: what an element should be is seen from where it lies.

#include <meshwise/meshwise.hpp>

#include <cstdint>

namespace support {

/// An uncommitted array that has no memory until it is placed.
inline meshwise::Array numbered(const meshwise::Shape& shape, meshwise::Dtype dtype) {
  return meshwise::arange(shape.num_elements(), dtype).reshape(shape);
}

/// How many of this rank's elements are not their numbers in an array of x's shape.
template <class T>
std::int64_t wrong_numbers(const meshwise::Array& x) {
  std::int64_t wrong = 0;
  for (const auto& shard : x.addressable_shards()) {
    const auto& box = shard.index();
    const auto values = shard.data().template view<T>();
    for (std::int64_t k = 0; k < values.size(); ++k) {
      std::int64_t number = 0, rest = k, step = 1;
      for (std::int64_t d = box.ndim(); d-- > 0;) {
        number += (box[d].start + rest % box[d].size()) * step;
        rest /= box[d].size();
        step *= x.shape()[d];
      }
      wrong += values[k] != static_cast<T>(number) ? 1 : 0;
    }
  }
  return wrong;
}

/// The first n devices in a row.
inline meshwise::Mesh line(std::int64_t n) { return meshwise::make_mesh({n}, {"x"}, {.devices = meshwise::devices().first(n)}); }

}  // namespace support

#include "meshwise/plan/donation.hpp"

#include <algorithm>

namespace meshwise {

bool moves_in_parts(const Sharding& from, const Sharding& to, const Shape& shape, std::int64_t itemsize) {
  constexpr std::int64_t worth_from = std::int64_t{16} << 20;  // bytes of a block
  if (!(from.devices() == to.devices()) || from.is_fully_replicated() || from.is_equivalent_to(to, shape.ndim())) return false;
  return std::min(from.shard_shape(shape).num_elements(), to.shard_shape(shape).num_elements()) * itemsize >= worth_from;
}

}  // namespace meshwise

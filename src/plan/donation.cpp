#include "meshwise/plan/donation.hpp"

#include <algorithm>

namespace meshwise {

bool moves_in_parts(const Sharding& from, const Sharding& to, const Shape& shape, std::int64_t itemsize) {
  constexpr std::int64_t worth_from = std::int64_t{16} << 20;  // bytes of a block
  if (!(from.devices() == to.devices()) || from.is_fully_replicated() || from.is_equivalent_to(to, shape.ndim())) return false;
  return std::min(from.shard_shape(shape).num_elements(), to.shard_shape(shape).num_elements()) * itemsize >= worth_from;
}

DonatedPart donated_part(const PerAxis<std::int64_t>& extents, std::int64_t k) {
  auto axis = std::find_if(extents.begin(), extents.end(), [](std::int64_t n) { return n >= donated_parts; });
  if (axis == extents.end()) axis = std::max_element(extents.begin(), extents.end());
  return {static_cast<std::size_t>(axis - extents.begin()), part(k, donated_parts, *axis)};
}

}  // namespace meshwise

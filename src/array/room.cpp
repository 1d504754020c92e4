#include <fmt/format.h>

#include "array/place.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/plan/propagation.hpp"
#include "meshwise/plan/room.hpp"
#include "meshwise/runtime/block_store.hpp"
#include "meshwise/runtime/node.hpp"

namespace meshwise::detail {

void check_room(std::string_view operation, Dtype dtype, const Shape& shape, const Sharding& sharding) {
  const auto lack = lacks_room(dtype, shape, sharding, topology(), {.rank = largest_block(), .node = node_memory()});
  if (lack.empty()) return;
  throw OutOfMemoryError(fmt::format("{}: the result {}[{}] {} on {} has {}. Split it over more devices, or raise the limit.", operation, name(dtype), joined(shape),
                                     to_string(sharding.spec()), to_string(sharding.devices()), lack));
}

}  // namespace meshwise::detail

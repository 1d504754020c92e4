#pragma once
// Whether a result can have room anywhere, by metadata alone: then all ranks refuse it at the call.

#include <cstdint>
#include <limits>
#include <string>

#include "meshwise/base/dtype.hpp"
#include "meshwise/base/shape.hpp"
#include "meshwise/placement/sharding.hpp"
#include "meshwise/plan/topology.hpp"

namespace meshwise {

/// Local. Bytes that no rank, and that the ranks of no node together, can go beyond.
struct Room {
  std::int64_t rank = std::numeric_limits<std::int64_t>::max();
  std::int64_t node = std::numeric_limits<std::int64_t>::max();
};

/// Local. What an array of that placement has too much of, `blocks of float64[8,16], 1024 bytes each, and no rank can have more than 512 bytes`; empty
/// where there is room. Of a box that devices of one rank hold, or of one node where nodes share memory, one block counts.
std::string lacks_room(Dtype dtype, const Shape& shape, const Sharding& sharding, const Topology& topology, const Room& room);

}  // namespace meshwise

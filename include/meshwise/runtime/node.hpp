#pragma once
// Which ranks share a node, as found when the Environment began (or as MESHWISE_NODE_SIZE or MESHWISE_NODES pretends), and what it has.

#include "meshwise/plan/topology.hpp"

namespace meshwise::detail {

/// Local. The world's nodes, for plans; the same on every rank.
const Topology& topology();

/// Local. The memory of the smallest node, in bytes, agreed at start.
std::int64_t node_memory();

}  // namespace meshwise::detail

#pragma once
// Which ranks share a node, as found when the Environment began (or as MESHWISE_NODE_SIZE pretends).

#include "meshwise/plan/topology.hpp"

namespace meshwise::detail {

/// Local. The world's nodes, for plans; the same on every rank.
const Topology& topology();

}  // namespace meshwise::detail

#pragma once
// Which devices share a process and which processes share a node: all a plan needs to know of the machine.

#include <cstdint>

#include "meshwise/placement/device.hpp"

namespace meshwise {

/// Local. Ranks are grouped into nodes of `ranks_per_node` consecutive ranks (0: all on one node); a device's process is its rank.
struct Topology {
  std::int64_t ranks_per_node = 0;
  /// Local. Replicas wanted by several ranks of a node share one block there (the arena); else each process has its own.
  bool node_shares_memory = false;

  std::int64_t node_of(std::int64_t rank) const { return ranks_per_node > 0 ? rank / ranks_per_node : 0; }
  friend bool operator==(const Topology&, const Topology&) = default;
};

}  // namespace meshwise

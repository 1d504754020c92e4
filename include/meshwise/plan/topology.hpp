#pragma once
// Which devices share a process and which processes share a node: all a plan needs to know of the machine.

#include <cstdint>
#include <memory>
#include <vector>

#include "meshwise/base/shape.hpp"

namespace meshwise {

/// Local. Some devices, by id and in order: a run of ids, or the devices of some ranks. Refers to the list of ranks it was made from.
class Nearby {
 public:
  Nearby(Range ids) : ids_(ids) {}
  /// Local. `ranks` in order, each with `devices_per_rank` devices.
  Nearby(const std::vector<std::int64_t>& ranks, std::int64_t devices_per_rank) : ranks_(&ranks), devices_per_rank_(devices_per_rank) {}

  std::int64_t size() const { return ranks_ ? static_cast<std::int64_t>(ranks_->size()) * devices_per_rank_ : ids_.size(); }
  /// Local. The k-th of them, 0 <= k < size().
  std::int64_t operator[](std::int64_t k) const {
    return ranks_ ? (*ranks_)[static_cast<std::size_t>(k / devices_per_rank_)] * devices_per_rank_ + k % devices_per_rank_ : ids_.start + k;
  }
  /// Local. O(1) for a run, O(log ranks) for a list.
  bool contains(std::int64_t id) const;

 private:
  Range ids_{};
  const std::vector<std::int64_t>* ranks_ = nullptr;
  std::int64_t devices_per_rank_ = 1;
};

/// Local. The node of each rank, and the ranks of each node in order.
struct NodeTable {
  std::vector<std::int64_t> node_of{};
  std::vector<std::vector<std::int64_t>> ranks{};
  /// Local. From any number for each rank that is the same on a node and nowhere else; nodes are numbered as their first ranks come.
  static NodeTable from(const std::vector<std::int64_t>& names);
  friend bool operator==(const NodeTable&, const NodeTable&) = default;
};

/// Local. Ranks are grouped into nodes of `ranks_per_node` consecutive ranks (0: all on one node); a device's process is its rank.
struct Topology {
  std::int64_t ranks_per_node = 0;
  /// Local. Replicas wanted by several ranks of a node share one block there (the arena); else each process has its own.
  bool node_shares_memory = false;
  /// Local. Where nodes are other sets of ranks (hosts of different sizes, ranks dealt to hosts in turn): which; `ranks_per_node` is then
  /// the largest node's. Ranks beyond it have no node mates.
  std::shared_ptr<const NodeTable> table{};

  /// Local. The topology of a job whose ranks have these names (NodeTable::from).
  static Topology of(const std::vector<std::int64_t>& names);

  std::int64_t node_of(std::int64_t rank) const;
  /// Local. The devices of the node of a rank. Refers to this topology's table.
  Nearby node(std::int64_t rank, std::int64_t devices_per_rank) const;
};

}  // namespace meshwise

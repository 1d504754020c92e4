#include "meshwise/plan/topology.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace meshwise {

bool Nearby::contains(std::int64_t id) const {
  return ranks_ ? std::binary_search(ranks_->begin(), ranks_->end(), id / devices_per_rank_) : id >= ids_.start && id < ids_.stop;
}

NodeTable NodeTable::from(const std::vector<std::int64_t>& names) {
  NodeTable table;
  std::map<std::int64_t, std::int64_t> numbers;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const auto node = numbers.emplace(names[rank], static_cast<std::int64_t>(numbers.size())).first->second;
    table.node_of.push_back(node);
    table.ranks.resize(numbers.size());
    table.ranks[static_cast<std::size_t>(node)].push_back(static_cast<std::int64_t>(rank));
  }
  return table;
}

Topology Topology::of(const std::vector<std::int64_t>& names) {
  auto table = NodeTable::from(names);
  if (table.ranks.size() <= 1) return {};
  std::size_t largest = 0;
  for (const auto& ranks : table.ranks) largest = std::max(largest, ranks.size());
  Topology topology{.ranks_per_node = static_cast<std::int64_t>(largest)};
  bool runs = true;
  for (std::size_t rank = 0; rank < names.size(); ++rank)
    runs = runs && table.node_of[rank] == topology.node_of(static_cast<std::int64_t>(rank));
  if (!runs) topology.table = std::make_shared<const NodeTable>(std::move(table));
  return topology;
}

std::int64_t Topology::node_of(std::int64_t rank) const {
  if (ranks_per_node <= 0) return 0;
  if (!table) return rank / ranks_per_node;
  const auto known = static_cast<std::int64_t>(table->node_of.size());
  return rank < known ? table->node_of[static_cast<std::size_t>(rank)] : static_cast<std::int64_t>(table->ranks.size()) + rank - known;
}

Nearby Topology::node(std::int64_t rank, std::int64_t devices_per_rank) const {
  if (ranks_per_node <= 0) return Range{0, std::numeric_limits<std::int64_t>::max()};
  const auto number = node_of(rank);
  if (!table) return Range{number * ranks_per_node * devices_per_rank, (number + 1) * ranks_per_node * devices_per_rank};
  if (number < static_cast<std::int64_t>(table->ranks.size())) return {table->ranks[static_cast<std::size_t>(number)], devices_per_rank};
  return Range{rank * devices_per_rank, (rank + 1) * devices_per_rank};
}

}  // namespace meshwise

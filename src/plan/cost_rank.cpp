#include "plan/cost_rank.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "meshwise/plan/donation.hpp"
#include "meshwise/plan/staging.hpp"

namespace meshwise::detail {

RankCounter::RankCounter(const Movement& movement, const Topology& topology, std::int64_t itemsize, bool in_parts)
    : movement_(movement),
      topology_(topology),
      itemsize_(itemsize),
      devices_per_rank_(
          std::max(movement.source.sharding.devices().devices_per_rank(), movement.target.sharding.devices().devices_per_rank())),
      in_parts_(in_parts),
      planner_(movement, topology),
      source_(movement.source, movement.extent, "source"),
      target_(movement.target, movement.extent, "target") {}

LinkUse RankCost::*RankCounter::way(std::int64_t from_rank, std::int64_t to_rank) const {
  if (from_rank == to_rank) return &RankCost::memory;
  if (topology_.node_of(from_rank) != topology_.node_of(to_rank)) return &RankCost::network;
  return topology_.node_shares_memory ? &RankCost::memory : &RankCost::node;
}

namespace {

/// Bytes of the distinct boxes: devices of one process share the block of a box they all hold.
std::int64_t block_bytes(const End& end, const std::vector<std::int64_t>& positions, std::int64_t itemsize) {
  std::int64_t bytes = 0;
  std::vector<Index> seen;
  for (const auto position : positions) {
    auto box = end.box_at(position);
    if (std::find(seen.begin(), seen.end(), box) != seen.end()) continue;
    bytes += box.num_elements() * itemsize;
    seen.push_back(std::move(box));
  }
  return bytes;
}

}  // namespace

void RankCounter::add_memory(RankCost& cost) const {
  std::vector<std::int64_t> positions;
  for (auto id = cost.rank * devices_per_rank_; id < (cost.rank + 1) * devices_per_rank_; ++id) {
    if (const auto p = source_.devices().position_of(id)) {
      cost.bytes_before += movement_.source.box_at(*p).num_elements() * itemsize_;
      positions.push_back(*p);
    }
    if (const auto p = target_.devices().position_of(id)) cost.bytes_after += movement_.target.box_at(*p).num_elements() * itemsize_;
  }
  // Every byte of a new block came in once; a kept one needs no new block.
  const auto fresh = cost.memory.bytes_in + cost.node.bytes_in + cost.network.bytes_in;
  const auto old = block_bytes(movement_.source, positions, itemsize_);
  // In parts: of one of both the whole is there, of the other what is on its way.
  const auto blocks = in_parts_ ? std::max(old, fresh) + std::min(old, fresh) / donated_parts : old + fresh;
  cost.peak_bytes = blocks + std::min(cost.node.bytes_in + cost.network.bytes_in, most_staging) + std::min(cost.node.bytes_out + cost.network.bytes_out, most_staging);
}

RankCost RankCounter::counted(std::int64_t rank) const {
  RankCost cost;
  cost.rank = rank;
  std::set<std::int64_t> givers, takers;
  for (auto id = rank * devices_per_rank_; id < (rank + 1) * devices_per_rank_; ++id) {
    const Device device{id, rank, id % devices_per_rank_};
    for (const auto& p : planner_.receives(device)) {
      const auto bytes = p.box.num_elements() * itemsize_;
      if (p.action == Action::alias || p.action == Action::hand_over) {
        cost.bytes_kept += bytes;
        continue;
      }
      const auto way_in = way(p.source.rank, rank);
      (cost.*way_in).bytes_in += bytes;
      if (way_in == &RankCost::memory || givers.insert(p.source.rank).second) ++(cost.*way_in).messages_in;
    }
    for (const auto& p : planner_.sends(device)) {
      if (p.action != Action::send) continue;
      const auto way_out = way(rank, p.target.rank);
      (cost.*way_out).bytes_out += p.box.num_elements() * itemsize_;
      if (way_out == &RankCost::memory || takers.insert(p.target.rank).second) ++(cost.*way_out).messages_out;
    }
    cost.bytes_lower_bound += planner_.unavoidable_elements(device) * itemsize_;
  }
  add_memory(cost);
  return cost;
}

}  // namespace meshwise::detail

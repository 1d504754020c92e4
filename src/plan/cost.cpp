#include "meshwise/plan/cost.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "meshwise/plan/donation.hpp"
#include "meshwise/plan/propagation.hpp"
#include "plan/cost_rank.hpp"

namespace meshwise {

namespace {

constexpr std::int64_t ranks_listed = 16;

/// The ranks of the two lists if they are few; else those of devices spread evenly over both, the first and the last among them.
std::pair<std::set<std::int64_t>, bool> ranks_to_list(const DeviceList& from, const DeviceList& to) {
  std::set<std::int64_t> ranks;
  const auto most = ranks_listed * std::max(from.devices_per_rank(), to.devices_per_rank());
  if (from.size() <= most && to.size() <= most) {
    for (const auto* list : {&from, &to})
      for (const auto device : *list) ranks.insert(device.rank);
    if (static_cast<std::int64_t>(ranks.size()) <= ranks_listed) return {ranks, true};
    ranks.clear();
  }
  for (const auto* list : {&from, &to})
    for (std::int64_t i = 0; i < ranks_listed; ++i) {
      const auto n = list->size() - 1;
      ranks.insert((*list)[n / (ranks_listed - 1) * i + n % (ranks_listed - 1) * i / (ranks_listed - 1)].rank);
    }
  return {ranks, false};
}

// ---- time ----

/// Bytes that a whole node moves by each kind of way.
struct NodeLoad {
  LinkUse memory, node, network;
};

constexpr std::pair<LinkUse RankCost::*, LinkUse NodeLoad::*> ways[] = {
    {&RankCost::memory, &NodeLoad::memory}, {&RankCost::node, &NodeLoad::node}, {&RankCost::network, &NodeLoad::network}};

/// Every rank that has part in the move is known.
std::map<std::int64_t, NodeLoad> loads_of(const std::vector<RankCost>& ranks, const Topology& topology) {
  std::map<std::int64_t, NodeLoad> loads;
  for (const auto& r : ranks)
    for (const auto& [of_rank, of_node] : ways) {
      auto& load = loads[topology.node_of(r.rank)].*of_node;
      load.bytes_in += (r.*of_rank).bytes_in;
      load.bytes_out += (r.*of_rank).bytes_out;
    }
  return loads;
}

/// The node's other readers are taken to receive what this rank does, its other holders to send so.
NodeLoad load_like(const RankCost& r, const detail::RankCounter& counter) {
  const auto [holders, readers] = counter.alike_on_node(r.rank);
  NodeLoad load;
  for (const auto& [of_rank, of_node] : ways) {
    (load.*of_node).bytes_in = (r.*of_rank).bytes_in * readers;
    (load.*of_node).bytes_out = (r.*of_rank).bytes_out * holders;
  }
  return load;
}

double seconds_of(const LinkUse& rank, const LinkUse& node, const LinkFigures& link) {
  const auto messages = std::max(rank.messages_in, rank.messages_out);
  if (messages == 0) return 0;
  const auto own = static_cast<double>(std::max(rank.bytes_in, rank.bytes_out)) / link.rank_bandwidth;
  const auto shared = static_cast<double>(std::max(node.bytes_in, node.bytes_out)) / link.bandwidth;
  return std::max(own, shared) + static_cast<double>(messages) * link.latency;
}

double seconds_of(const RankCost& r, const NodeLoad& node, const Links& links) {
  auto copies = r.memory,
       node_copies = node.memory;  // who reads makes the copy: what others copy out of this rank's blocks costs it nothing
  copies.bytes_out = copies.messages_out = node_copies.bytes_out = 0;
  return std::max(seconds_of(copies, node_copies, links.memory) + seconds_of(r.node, node.node, links.node),
                  seconds_of(r.network, node.network, links.network));
}

}  // namespace

PlanReport plan_report(const Shape& shape, Dtype dtype, const Sharding& from, const Sharding& to, const PlanOptions& options) {
  const auto movement = Movement::reshard(from, to, shape);
  const auto item = static_cast<std::int64_t>(itemsize(dtype));
  const detail::RankCounter counter(movement, options.topology, item, options.donate && moves_in_parts(from, to, shape, item));
  const auto [ranks, all] = ranks_to_list(from.devices(), to.devices());
  PlanReport report{.from = type_string(dtype, shape, from.spec()),
                    .to = type_string(dtype, shape, to.spec()),
                    .from_devices = from.devices().size(),
                    .to_devices = to.devices().size(),
                    .options = options,
                    .complete = all};
  for (const auto rank : ranks) report.ranks.push_back(all ? counter.counted(rank) : counter.reckoned(rank));
  auto loads = all ? loads_of(report.ranks, options.topology) : std::map<std::int64_t, NodeLoad>();
  for (auto& r : report.ranks) {
    const auto load = all ? loads[options.topology.node_of(r.rank)] : load_like(r, counter);
    r.seconds = seconds_of(r, load, options.links);
    r.bytes_left = options.donate ? r.bytes_after : r.bytes_before + r.bytes_after - r.bytes_kept;
    report.seconds = std::max(report.seconds, r.seconds);
  }
  return report;
}

std::string explain(const Shape& shape, Dtype dtype, const Sharding& from, const Sharding& to, const Topology& topology,
                    const Links& links) {
  return to_string(plan_report(shape, dtype, from, to, {.topology = topology, .links = links}));
}

}  // namespace meshwise

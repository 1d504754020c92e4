#include "meshwise/plan/room.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "meshwise/plan/propagation.hpp"

namespace meshwise {

namespace {

/// Bytes of a part; more than any integer may be asked for.
double bytes_of(const Shape& part, Dtype dtype) {
  auto bytes = static_cast<double>(itemsize(dtype));
  for (const auto n : part) bytes *= static_cast<double>(n);
  return bytes;
}

/// At most so many of a list's devices are on one node.
std::int64_t most_on_a_node(const DeviceList& devices, const Topology& topology) {
  const auto ranks = topology.ranks_per_node;
  return ranks > 0 ? std::min(devices.size(), ranks * devices.devices_per_rank()) : devices.size();
}

struct Load {
  std::int64_t at = 0;  // a rank or a node
  double bytes = 0;
};

/// The most loaded of the ranks, or of the nodes: of a box that several devices there can share, one block counts.
Load most_loaded(Dtype dtype, const Shape& shape, const Sharding& sharding, const Topology& topology, bool by_node) {
  const auto& devices = sharding.devices();
  const auto& copies = sharding.replicas();
  const bool shares = topology.node_shares_memory;
  std::set<std::pair<std::int64_t, std::int64_t>> blocks;  // who shares, and the first position that holds the box
  std::map<std::int64_t, double> loads;
  for (std::int64_t position = 0; position < devices.size(); ++position) {
    const auto rank = devices[position].rank, node = topology.node_of(rank);
    auto box = position;
    for (const auto& d : copies.digits) box -= position / d.stride % d.size * d.stride;
    if (blocks.emplace(by_node && shares ? node : rank, box).second)
      loads[by_node ? node : rank] += bytes_of(sharding.index_at(shape, position).shape(), dtype);
  }
  Load most;
  for (const auto& [at, bytes] : loads)
    if (bytes > most.bytes) most = {at, bytes};
  return most;
}

}  // namespace

std::string lacks_room(Dtype dtype, const Shape& shape, const Sharding& sharding, const Topology& topology, const Room& room) {
  const auto a_rank = static_cast<double>(room.rank), a_node = static_cast<double>(room.node);
  const auto at_most = static_cast<double>(most_on_a_node(sharding.devices(), topology));
  if (bytes_of(shape, dtype) * at_most <= std::min(a_rank, a_node)) return {};
  const auto block = sharding.shard_shape(shape);
  const auto each = bytes_of(block, dtype);
  if (each > a_rank) return fmt::format("blocks of {}[{}], {:.0f} bytes each, and no rank can have more than {:.0f} bytes", name(dtype), joined(block), each, a_rank);
  if (each * at_most <= std::min(a_rank, a_node)) return {};
  if (const auto most = most_loaded(dtype, shape, sharding, topology, false); most.bytes > a_rank)
    return fmt::format("{:.0f} bytes on rank {} together, and no rank can have more than {:.0f} bytes", most.bytes, most.at, a_rank);
  if (const auto most = most_loaded(dtype, shape, sharding, topology, true); most.bytes > a_node)
    return fmt::format("{:.0f} bytes on the ranks of one node together, whose memory is {:.0f} bytes", most.bytes, a_node);
  return {};
}

}  // namespace meshwise

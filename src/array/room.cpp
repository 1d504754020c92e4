// Whether a result can have room anywhere, by metadata alone.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "array/place.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/plan/propagation.hpp"
#include "meshwise/runtime/block_store.hpp"
#include "meshwise/runtime/node.hpp"

namespace meshwise::detail {

namespace {

/// Bytes of a part; more than any integer may be asked for.
double bytes_of(const Shape& part, Dtype dtype) {
  auto bytes = static_cast<double>(itemsize(dtype));
  for (const auto n : part) bytes *= static_cast<double>(n);
  return bytes;
}

/// At most so many of a list's devices are on one node.
std::int64_t most_on_a_node(const DeviceList& devices) {
  const auto ranks = topology().ranks_per_node;
  return ranks > 0 ? std::min(devices.size(), ranks * devices.devices_per_rank()) : devices.size();
}

struct Load {
  std::int64_t at = 0;  // a rank or a node
  double bytes = 0;
};

/// The most loaded of the ranks, or of the nodes: of a box that several devices there can share, one block counts.
Load most_loaded(const Shape& shape, Dtype dtype, const Sharding& sharding, bool by_node) {
  const auto& devices = sharding.devices();
  const auto& copies = sharding.replicas();
  const bool shares = topology().node_shares_memory;
  std::set<std::pair<std::int64_t, std::int64_t>> blocks;  // who shares, and the first position that holds the box
  std::map<std::int64_t, double> loads;
  for (std::int64_t position = 0; position < devices.size(); ++position) {
    const auto rank = devices[position].rank, node = topology().node_of(rank);
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

void check_room(std::string_view operation, Dtype dtype, const Shape& shape, const Sharding& sharding) {
  const auto a_rank = static_cast<double>(largest_block()), a_node = static_cast<double>(node_memory());
  if (bytes_of(shape, dtype) * static_cast<double>(most_on_a_node(sharding.devices())) <= std::min(a_rank, a_node)) return;
  const auto refuse = [&](const std::string& what) {
    throw OutOfMemoryError(fmt::format("{}: the result {}[{}] {} on {} has {}. Split it over more devices, or raise the limit.", operation, name(dtype), joined(shape),
                                       to_string(sharding.spec()), to_string(sharding.devices()), what));
  };
  const auto block = sharding.shard_shape(shape);
  if (bytes_of(block, dtype) > a_rank)
    refuse(fmt::format("blocks of {}[{}], {:.0f} bytes each, and no rank can have more than {:.0f} bytes", name(dtype), joined(block), bytes_of(block, dtype), a_rank));
  if (bytes_of(block, dtype) * static_cast<double>(most_on_a_node(sharding.devices())) <= std::min(a_rank, a_node)) return;
  if (const auto most = most_loaded(shape, dtype, sharding, false); most.bytes > a_rank)
    refuse(fmt::format("{:.0f} bytes on rank {} together, and no rank can have more than {:.0f} bytes", most.bytes, most.at, a_rank));
  if (const auto most = most_loaded(shape, dtype, sharding, true); most.bytes > a_node)
    refuse(fmt::format("{:.0f} bytes on the ranks of one node together, whose memory is {:.0f} bytes", most.bytes, a_node));
}

}  // namespace meshwise::detail

// What placements send through MPI, counted at its profiling layer, against what has to be sent, counted element by element.
// ranks: 2 4
// counters
// variant: private ranks=4 MESHWISE_STORE=private
// variant: nodes1 ranks=4 MESHWISE_NODE_SIZE=1
// variant: nodes2 ranks=4,6 MESHWISE_NODE_SIZE=2
// variant: dealt ranks=4,6 MESHWISE_NODES=0,1
// variant: uneven ranks=4,6 MESHWISE_NODES=0,1,1,1
// variant: chunks ranks=4 MESHWISE_NODE_SIZE=2 MESHWISE_CHUNK_BYTES=64
// env: MESHWISE_DELAY_SEED=0
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "support/counters.hpp"
#include "support/random_placement.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P, mw::none;

namespace {

const mw::Shape shape{12, 18};  // no message too long for one piece
constexpr std::int64_t item = 8;

/// The node of a rank, as the variant pretends it.
std::int64_t node_of(std::int64_t rank) {
  if (const char* size = std::getenv("MESHWISE_NODE_SIZE")) return rank / std::atoi(size);
  if (const char* nodes = std::getenv("MESHWISE_NODES")) return nodes[static_cast<std::size_t>(rank) % ((std::strlen(nodes) + 1) / 2) * 2];
  return 0;
}

std::int64_t sharers_of(std::int64_t rank) { return std::getenv("MESHWISE_STORE") ? rank : node_of(rank); }

using Elements = std::set<std::int64_t>;

/// What each rank (each node, where it shares memory) has of an array.
std::map<std::int64_t, Elements> held(const NamedSharding& sharding) {
  std::map<std::int64_t, Elements> found;
  for (const auto& [device, box] : sharding.devices_indices_map(shape))
    for (auto i = box[0].start; i < box[0].stop; ++i)
      for (auto j = box[1].start; j < box[1].stop; ++j) found[sharers_of(device.rank)].insert(i * shape[1] + j);
  return found;
}

std::int64_t bytes_that_must_cross(const NamedSharding& from, const NamedSharding& to) {
  const auto had = held(from);
  std::int64_t elements = 0;
  for (const auto& [sharers, wanted] : held(to)) {
    const auto at = had.find(sharers);
    for (const auto element : wanted) elements += at == had.end() || !at->second.contains(element) ? 1 : 0;
  }
  return elements * item;
}

std::vector<NamedSharding> layouts() {
  const auto n = static_cast<std::int64_t>(mw::devices().size());
  const auto line = mw::make_mesh({n}, {"x"}), back = mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()});
  const auto grid = mw::make_mesh({n / 2, 2}, {"x", "y"});
  const auto low = mw::make_mesh({n / 2}, {"x"}, {.devices = mw::devices().first(n / 2)});
  const auto high = mw::make_mesh({n / 2}, {"x"}, {.devices = mw::devices().last(n / 2)});
  return {{line, P("x")}, {line, P(none, "x")}, {line, P()},         {back, P("x")},      {grid, P("x", "y")}, {grid, P("y")},
          {grid, P()},    {low, P("x")},        {low, P(none, "x")}, {high, P(none, "x")}, {high, P()}};
}

TEST(Wire, EveryByteThatMustCrossCrossesOnce) {
  const auto me = mw::process_index();
  for (const auto& from : layouts())
    for (const auto& to : layouts()) {
      const auto x = mw::device_put(mw::arange(shape.num_elements(), mw::float64).reshape(shape), from);
      mw::block_until_ready(x);
      const auto report = mw::plan_report(x, to);
      std::int64_t planned_in = 0, planned_out = 0, messages = 0;
      for (const auto& r : report.ranks) {
        planned_in += r.node.bytes_in + r.network.bytes_in;
        planned_out += r.node.bytes_out + r.network.bytes_out;
        if (r.rank == me) messages = r.node.messages_out + r.network.messages_out;
      }
      const auto where = fmt::format("{} -> {}", mw::to_string(from), mw::to_string(to));
      EXPECT_EQ(planned_in, bytes_that_must_cross(from, to)) << where;
      EXPECT_EQ(planned_out, planned_in) << where;
      mw::quiesce();
      mw::barrier();
      const auto before = support::snapshot_all_threads();
      const auto stats = mw::runtime_stats();
      const auto y = mw::device_put(x, to);
      mw::block_until_ready(y);
      mw::quiesce();
      const auto used = support::snapshot_all_threads() - before;
      const auto sent = mw::runtime_stats().bytes_sent - stats.bytes_sent;
      std::int64_t mine = 0;
      for (const auto& r : report.ranks)
        if (r.rank == me) mine = r.node.bytes_out + r.network.bytes_out;
      EXPECT_EQ(sent, mine) << where;
      EXPECT_GE(static_cast<std::int64_t>(used.bytes), mine) << where;
      EXPECT_EQ(used.collectives, 0u) << where;
      if (!std::getenv("MESHWISE_CHUNK_BYTES")) {
        EXPECT_EQ(static_cast<std::int64_t>(used.messages), messages) << where;
        EXPECT_LE(static_cast<std::int64_t>(used.bytes), mine + 512 * messages) << where;
      }
      mw::barrier();
    }
}

}  // namespace

#include "meshwise/plan/room.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "meshwise/placement/mesh.hpp"

namespace meshwise {
namespace {

constexpr std::int64_t item = 8;

/// What the most loaded rank or node has, device by device: a box counts once where it is shared.
std::int64_t most(const Sharding& sharding, const Shape& shape, const Topology& topology, bool by_node) {
  std::map<std::int64_t, std::set<std::string>> boxes;
  std::map<std::int64_t, std::int64_t> bytes;
  for (std::int64_t p = 0; p < sharding.devices().size(); ++p) {
    const auto rank = sharding.devices()[p].rank, where = by_node ? topology.node_of(rank) : rank;
    const auto box = sharding.index_at(shape, p);
    const auto sharers = by_node && topology.node_shares_memory ? std::string() : std::to_string(rank);
    if (boxes[where].insert(to_string(box) + " of " + sharers).second) bytes[where] += box.num_elements() * item;
  }
  return std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->second;
}

TEST(Room, IsLackingFromOneByteTooFewOn) {
  const auto mesh = make_mesh({4, 4}, {"x", "y"}, {.devices = DeviceList::virtual_devices(16, 2)});
  const std::vector<Topology> topologies{{}, {.ranks_per_node = 2}, {.ranks_per_node = 2, .node_shares_memory = true}, {.node_shares_memory = true},
                                         [] {
                                           auto dealt = Topology::of({0, 1, 0, 1, 0, 1, 0, 0});
                                           dealt.node_shares_memory = true;
                                           return dealt;
                                         }()};
  const std::vector<PartitionSpec> specs{P(), P("x"), P(nullptr, "y"), P("x", "y"), P("y", "x"), P({"x", "y"})};
  for (const auto& topology : topologies)
    for (const auto& spec : specs)
      for (const auto& shape : {Shape{16, 16}, Shape{5, 3}, Shape{1, 7}}) {
        const Sharding sharding = NamedSharding(mesh, spec);
        const auto rank = most(sharding, shape, topology, false), node = most(sharding, shape, topology, true);
        const auto lack = [&](Room room) { return lacks_room(Dtype::float64, shape, sharding, topology, room); };
        EXPECT_EQ(lack({rank, node}), "") << to_string(spec);
        EXPECT_NE(lack({rank - 1, node}).find("no rank can have more"), std::string::npos) << to_string(spec);
        if (node > rank) { EXPECT_NE(lack({rank, node - 1}).find("ranks of one node together"), std::string::npos) << to_string(spec); }
        EXPECT_EQ(lack({}), "");
      }
}

TEST(Room, MoreBytesThanAnIntegerHolds) {
  const auto mesh = make_mesh({2}, {"x"}, {.devices = DeviceList::virtual_devices(2)});
  const auto lack = lacks_room(Dtype::float64, Shape{std::int64_t{1} << 40, std::int64_t{1} << 22}, NamedSharding(mesh, P("x")), {}, {.rank = std::int64_t{1} << 62});
  EXPECT_NE(lack.find("blocks of float64[549755813888,4194304]"), std::string::npos) << lack;
}

}  // namespace
}  // namespace meshwise

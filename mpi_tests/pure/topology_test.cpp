#include "meshwise/plan/topology.hpp"

#include <gtest/gtest.h>

#include <set>

namespace meshwise {
namespace {

std::set<std::int64_t> ids_of(const Nearby& near) {
  std::set<std::int64_t> ids;
  for (std::int64_t k = 0; k < near.size(); ++k) ids.insert(near[k]);
  return ids;
}

TEST(Topology, RunsOfRanksNeedNoTable) {
  EXPECT_EQ(Topology::of({5, 5, 5, 5}).ranks_per_node, 0);
  const auto pairs = Topology::of({0, 0, 2, 2, 4});
  EXPECT_EQ(pairs.ranks_per_node, 2);
  EXPECT_FALSE(pairs.table);
  EXPECT_EQ(ids_of(pairs.node(3, 2)), (std::set<std::int64_t>{4, 5, 6, 7}));
  EXPECT_EQ(Topology::of({0, 1, 2}).ranks_per_node, 1);
  EXPECT_EQ(Topology::of({7}).ranks_per_node, 0);
}

TEST(Topology, RanksDealtToHostsInTurn) {
  const auto dealt = Topology::of({0, 1, 0, 1, 0});
  ASSERT_TRUE(dealt.table);
  EXPECT_EQ(dealt.ranks_per_node, 3);
  EXPECT_EQ(dealt.node_of(0), dealt.node_of(4));
  EXPECT_NE(dealt.node_of(0), dealt.node_of(1));
  EXPECT_EQ(ids_of(dealt.node(2, 2)), (std::set<std::int64_t>{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(ids_of(dealt.node(3, 1)), (std::set<std::int64_t>{1, 3}));
  for (std::int64_t id = 0; id < 10; ++id) EXPECT_EQ(dealt.node(0, 2).contains(id), id / 2 % 2 == 0) << id;
}

TEST(Topology, HostsOfDifferentSizes) {
  const auto hosts = Topology::of({3, 1, 1, 1, 2});
  ASSERT_TRUE(hosts.table);
  EXPECT_EQ(hosts.ranks_per_node, 3);
  EXPECT_EQ(ids_of(hosts.node(2, 1)), (std::set<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(ids_of(hosts.node(4, 1)), (std::set<std::int64_t>{4}));
}

TEST(Topology, RanksBeyondTheTableAreAlone) {
  const auto dealt = Topology::of({0, 1, 0, 1});
  EXPECT_EQ(ids_of(dealt.node(5, 2)), (std::set<std::int64_t>{10, 11}));
  EXPECT_NE(dealt.node_of(4), dealt.node_of(5));
  for (std::int64_t rank = 0; rank < 4; ++rank) EXPECT_NE(dealt.node_of(5), dealt.node_of(rank));
}

TEST(Topology, EmptyAndWholeRanges) {
  EXPECT_EQ(Nearby(Range{}).size(), 0);
  EXPECT_FALSE(Nearby(Range{}).contains(0));
  EXPECT_TRUE(Topology{}.node(3, 2).contains(1 << 20));
}

}  // namespace
}  // namespace meshwise

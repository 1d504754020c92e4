// ranks: 1 2 3 4 6 8
// hosts: 2x2 4x1
// devices_per_rank: 8 4@2 2@3
// variant: nodes1 ranks=4 MESHWISE_NODE_SIZE=1 MESHWISE_TEST_FIRST=6000
// variant: nodes2 ranks=4 MESHWISE_NODE_SIZE=2 MESHWISE_TEST_FIRST=7000
// variant: nodes3 ranks=4 MESHWISE_NODE_SIZE=3 MESHWISE_TEST_FIRST=8000
// variant: dealt ranks=4,6 MESHWISE_NODES=0,1 MESHWISE_TEST_FIRST=9000
// variant: uneven ranks=6 MESHWISE_NODES=0,1,1,1,2 MESHWISE_TEST_FIRST=9500
// variant: chunks ranks=4 MESHWISE_CHUNK_BYTES=7 MESHWISE_STORE=private MESHWISE_TEST_FIRST=4000
// variant: tags ranks=2 MESHWISE_TAG_BOUND=100 MESHWISE_STORE=private MESHWISE_TEST_FIRST=10000
// variant: private ranks=2,3,4,8 MESHWISE_STORE=private MESHWISE_TEST_FIRST=20000 MESHWISE_TEST_CHAINS=1200
// variant: runahead ranks=4 MESHWISE_RUN_AHEAD=1000 MESHWISE_TEST_FIRST=11000
// variant: nothread ranks=4 MESHWISE_PROGRESS_THREAD=off MESHWISE_TEST_FIRST=12000
// variant: crowded ranks=16 MESHWISE_TEST_CHAINS=60
// variant: crowded_private ranks=16 MESHWISE_TEST_CHAINS=60 MESHWISE_STORE=private MESHWISE_TEST_FIRST=1000
// variant: portable ranks=3 MESHWISE_KERNELS=portable MESHWISE_TEST_FIRST=13000
// variant: large ranks=2,3,4 MESHWISE_LARGE_FROM=64 MESHWISE_TEST_FIRST=1000
// variant: halves ranks=4 MESHWISE_LARGE_FROM=512 MESHWISE_KERNELS=avx2 MESHWISE_TEST_FIRST=2000
// variant: container ranks=4 OMPI_MCA_btl_vader_single_copy_mechanism=none MESHWISE_STORE=private MESHWISE_CHUNK_BYTES=5000 MESHWISE_TEST_FIRST=3000
// variant: nocma ranks=2,4 OMPI_MCA_btl_vader_single_copy_mechanism=none MESHWISE_STORE=private MESHWISE_TEST_FIRST=14000
// variant: tcp ranks=4 OMPI_MCA_btl=tcp,self MESHWISE_STORE=private MESHWISE_TEST_FIRST=15000
// timeout: 240
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/random_chains.hpp"

namespace mw = meshwise;
using mw::testing::RandomPlacement, mw::testing::counting, mw::testing::describe, mw::testing::wrong_shards;

namespace {

/// 1260 movements. With distinct seeds more than 20,000 in arenas and more than 20,000 by private messages, over all entries of the default suite.
TEST(Redistribution, RandomMovesHoldTheirValues) { mw::testing::random_chains(1, 420); }

/// Large enough for both ranks to copy, for stores past the caches and for the progress thread; rows, short runs, three axes, uneven.
TEST(Redistribution, LargeMovesHoldTheirValues) {
  for (const auto* setting : {"MESHWISE_CHUNK_BYTES", "MESHWISE_LARGE_FROM", "MESHWISE_RUN_AHEAD"})
    if (!mw::setting(setting).empty()) GTEST_SKIP() << "tiny pieces of large arrays are many";
  const auto n = mw::devices().size();
  const auto mesh = mw::make_mesh({n}, {"x"}), reversed = mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()});
  for (const auto& shape : {mw::Shape{100003, 16}, mw::Shape{1500, 1501}, mw::Shape{37, 511, 65}}) {
    auto x = mw::device_put(counting(shape, mw::float64), mw::NamedSharding(mesh, mw::P("x")));
    for (const auto& target : {mw::NamedSharding(mesh, mw::P(nullptr, "x")), mw::NamedSharding(reversed, mw::P("x")), mw::NamedSharding(mesh, mw::P())}) {
      x = mw::device_put(x, target);
      ASSERT_EQ(wrong_shards(x), "") << describe(x);
    }
  }
}

TEST(Redistribution, GetBringsTheWholeToEveryRankOrToOne) {
  for (int seed = 1; seed <= 60; ++seed) {
    RandomPlacement random(static_cast<std::uint64_t>(5000 + seed));
    const auto ndim = random.below(4);
    const auto shape = random.shape(ndim);
    const auto dtype = random.dtype();
    const auto x = mw::device_put(counting(shape, dtype), random.sharding(ndim));
    EXPECT_TRUE(mw::testing::holds_counting(mw::device_get(x), shape, mw::Index::whole(shape))) << "seed " << seed << ": " << describe(x);
    const auto root = random.below(mw::process_count());
    const auto there = mw::device_get(x, root);
    if (mw::process_index() == root) {
      EXPECT_TRUE(mw::testing::holds_counting(there, shape, mw::Index::whole(shape))) << "seed " << seed;
    } else {
      EXPECT_EQ(there.size(), 0);
    }
  }
}

TEST(Redistribution, ManyTransfersInFlightCompleteInAnyOrder) {
  RandomPlacement random(77);
  std::vector<mw::Array> moved;
  for (int i = 0; i < 40; ++i) {
    const auto shape = random.shape(2);
    const auto x = mw::device_put(counting(shape, mw::float32), random.sharding(2));
    moved.push_back(mw::device_put(x, random.sharding(2)));
  }
  for (auto at = moved.rbegin(); at != moved.rend(); ++at) {
    mw::block_until_ready(*at);
    EXPECT_EQ(wrong_shards(*at), "");
  }
}

TEST(Redistribution, DonationDeletesTheSourceEverywhereAndNothingElse) {
  for (int seed = 1; seed <= 30; ++seed) {
    RandomPlacement random(static_cast<std::uint64_t>(900 + seed));
    const auto shape = random.shape(2);
    auto x = mw::device_put(counting(shape, mw::float64), random.sharding(2));
    const auto twin = x;                                     // another handle of the same array
    const auto other = mw::device_put(x, random.sharding(2));
    const auto y = mw::device_put(std::move(x), random.sharding(2), {.donate = true});
    EXPECT_TRUE(twin.is_deleted());
    EXPECT_THROW(mw::device_get(twin), mw::DonatedError);
    EXPECT_THROW(mw::device_put(twin, y.sharding()), mw::DonatedError);
    EXPECT_EQ(twin.shape(), shape);  // metadata stays readable
    EXPECT_EQ(wrong_shards(y), "") << "seed " << seed;
    if (!other.is_deleted()) { EXPECT_EQ(wrong_shards(other), "") << "seed " << seed; }
  }
}

}  // namespace

// ranks: 8
// counters
// variant: private ranks=8 MESHWISE_STORE=private
// timeout: 180
// What a fake would fail: who takes part, what moves, what it costs.
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "support/counters.hpp"
#include "support/hooks.hpp"
#include "support/random_placement.hpp"
#include "support/resident_bytes.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P, mw::make_mesh;

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }

TEST(PlacementCosts, RanksOutsideAMeshHoldNobodyUp) {
  mw::barrier();
  const auto start = std::chrono::steady_clock::now();
  if (mw::process_index() >= 4) std::this_thread::sleep_for(std::chrono::seconds(3));  // outside the library
  const auto mesh = make_mesh({2, 2}, {"x", "y"}, {.devices = {0, 1, 2, 3}});
  const auto a = mw::device_put(mw::arange(64.0).reshape({8, 8}), NamedSharding(mesh, P("x", "y")));
  const auto b = mw::reshard(a, P("y", "x"));
  const auto total = mw::sum(mw::matmul(a, b) + 1.0f);  // moves, partial sums: everything four ranks need of each other
  for (const auto& shard : total.addressable_shards()) EXPECT_EQ(shard.data().view<float>()[0], 529'600.0f);
  if (mw::process_index() < 4) { EXPECT_LT(seconds_since(start), 2.0); }
}

TEST(PlacementCosts, RefusalIsTheSameTextAndNoCall) {
  const auto mesh = make_mesh({4, 2}, {"data", "model"});
  const auto a = mw::device_put(mw::ones({8, 16}), NamedSharding(mesh, P("data", "model"))), one = mw::device_put(mw::ones({8, 16}), mw::devices()[3]);
  std::string text;
  const auto before = support::snapshot();
  try {
    a + one;
  } catch (const mw::CommitmentError& error) {
    text = error.what();
  }
  const auto calls = support::snapshot() - before;
  EXPECT_EQ(calls.calls, 0u) << support::to_string(calls);
  // Every rank has rank 0's text.
  mw::LocalArray mine(mw::Shape{512}, mw::uint8);
  std::fill_n(mine.mutable_view<std::uint8_t>().data(), 512, std::uint8_t{0});
  std::copy_n(text.begin(), std::min<std::size_t>(text.size(), 512), mine.mutable_view<std::uint8_t>().data());
  const auto first = mw::device_get(mw::device_put(mw::root_only(mine, {512}, mw::uint8, 0), mw::SingleDeviceSharding(mw::devices()[0])));
  EXPECT_EQ(std::memcmp(first.data(), mine.data(), 512), 0);
  EXPECT_NE(text.find("[0, 1, 2, 3, 4, 5, 6, 7]"), std::string::npos);
  EXPECT_NE(text.find("[3]"), std::string::npos);
}

TEST(PlacementCosts, ARecipeIsNeverWholeAnywhere) {
  mw::barrier();
  const auto before = support::resident_bytes();
  const auto mesh = make_mesh({8}, {"x"});
  const auto x = mw::device_put(mw::arange(std::int64_t{1} << 29, mw::int64).reshape({1 << 14, 1 << 15}), NamedSharding(mesh, P("x")));  // 4 GiB
  const auto grown = support::resident_bytes() - before;
  const std::int64_t shard = std::int64_t{1} << 29;
  EXPECT_LT(static_cast<double>(grown), 1.2 * static_cast<double>(shard) + 64.0 * 1024 * 1024);
  EXPECT_EQ(x.addressable_shards()[0].data().view<std::int64_t>()(0, 7), mw::process_index() * (std::int64_t{1} << 26) + 7);
}

// Only half the memory was of use, because a full copy was made before it was split.
TEST(UserCases, U063_EachRankMakesItsShare) {
  const NamedSharding rows(make_mesh({4}, {"x"}, {.devices = {0, 1, 2, 3}}), P("x"));
  constexpr std::int64_t n = 4096, share = n * n / 4 * 8;
  const std::vector<std::function<mw::Array()>> makers = {[] { return mw::zeros({n, n}, mw::float64); },
                                                          [] { return mw::arange(n * n, mw::float64).reshape({n, n}); },
                                                          [] { return mw::random::normal(mw::random::key(1), {n, n}, mw::float64); }};
  for (const auto& make : makers) {
    mw::trim();  // so that no page is there already
    mw::barrier();
    const auto before = support::resident_bytes();
    const auto x = mw::device_put(make(), rows);
    EXPECT_LE(support::resident_bytes() - before, mw::process_index() < 4 ? share * 5 / 4 : share / 4);
    for (const auto& shard : x.addressable_shards()) EXPECT_EQ(shard.data().shape(), (mw::Shape{n / 4, n}));
  }
}

TEST(PlacementCosts, U049_OneMessageAPeer) {
  const auto mesh = make_mesh({4}, {"x"}, {.devices = {0, 1, 2, 3}});
  const auto x = mw::device_put(mw::arange(1024.0 * 64).reshape({1024, 64}), NamedSharding(mesh, P("x")));
  mw::barrier();
  const auto heads = mw::detail::test_heads_sent();
  const auto before = support::snapshot_all_threads();
  const auto y = mw::reshard(x, P(nullptr, "x"));
  mw::block_until_ready(y);
  const auto sent = support::snapshot_all_threads() - before;
  if (mw::process_index() < 4) {
    const std::uint64_t payload = 3 * 256 * 16 * 4;
    EXPECT_EQ(mw::detail::test_heads_sent() - heads, 3);
    if (mw::memory_stats().store == "arena") {
      EXPECT_EQ(sent.messages, 0u);
      EXPECT_EQ(sent.bytes, 0u) << "nothing goes through MPI on a node that shares memory";
    } else {
      EXPECT_EQ(sent.messages, 6u) << "a head and a body a peer";
      EXPECT_GE(sent.bytes, payload);
      EXPECT_LE(sent.bytes, payload + 3 * 2048);
    }
  } else {
    EXPECT_EQ(sent.messages, 0u);
  }
  mw::barrier();
}

TEST(PlacementCosts, ATreeIsOneMessageAPeerToo) {
  const auto mesh = make_mesh({4}, {"x"}, {.devices = {0, 1, 2, 3}});
  mw::Tree tree;
  for (int i = 0; i < 20; ++i) tree.set("leaf" + std::to_string(i), mw::arange(256.0).reshape({16, 16}));
  const auto rows = mw::device_put(tree, NamedSharding(mesh, P("x")));
  mw::barrier();
  const auto heads = mw::detail::test_heads_sent();
  const auto before = support::snapshot_all_threads();
  const auto columns = mw::device_put(rows, NamedSharding(mesh, P(nullptr, "x")));
  for (const auto& leaf : mw::tree_leaves(columns)) mw::block_until_ready(leaf);
  const auto sent = support::snapshot_all_threads() - before;
  const bool takes_part = mw::process_index() < 4, alone = mw::memory_stats().store == "private";
  EXPECT_EQ(mw::detail::test_heads_sent() - heads, takes_part ? 3 : 0) << "messages, or letters on the node";
  EXPECT_EQ(sent.messages, takes_part && alone ? 3u : 0u) << "small enough to travel with their heads";
  if (takes_part && alone) { EXPECT_GE(sent.bytes, 20u * 3 * 4 * 4 * 4); }
  mw::barrier();
}

TEST(PlacementCosts, U047_PeakMemoryIsSourceAndTarget) {
  const auto mesh = make_mesh({8}, {"x"});
  const auto x = mw::device_put(mw::zeros({8192, 2048}, mw::float64), NamedSharding(mesh, P("x")));  // 16 MiB a rank
  mw::block_until_ready(mw::reshard(x, P(nullptr, "x")));
  mw::barrier();
  const auto live = mw::runtime_stats().live_bytes;
  const auto y = mw::reshard(x, P(nullptr, "x"));
  mw::block_until_ready(y);
  EXPECT_LE(mw::runtime_stats().live_bytes - live, (16 << 20) + (1 << 20));
}

TEST(PlacementCosts, U066_MemoryIsFlat) {
  const auto mesh = make_mesh({8}, {"x"});
  std::int64_t early = 0;
  for (int i = 0; i < 200; ++i) {
    const auto y = mw::device_put(mw::zeros({1024, 1024}, mw::float64), NamedSharding(mesh, P("x")));
    mw::block_until_ready(mw::reshard(y, P(nullptr, "x")));
    if (i == 10) early = support::resident_bytes();
  }
  EXPECT_LT(support::resident_bytes() - early, 16 << 20);
}

TEST(PlacementCosts, U115_U117_MeshesComeAndGo) {
  const auto before = mw::runtime_stats().communicators;
  std::int64_t early = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto mesh = make_mesh({2, 2}, {"x", "y" + std::to_string(i)}, {.devices = {0, 1, 2, 3}});
    if (i % 10'000 == 0) {
      const auto x = mw::device_put(mw::ones({4}), NamedSharding(mesh, P("x")));
      EXPECT_EQ(mw::sum(x).item<float>(), 4.0f);
    }
    if (i == 10'000) early = support::resident_bytes();
  }
#ifdef MESHWISE_SANITIZED
  EXPECT_LT(support::resident_bytes() - early, 300 << 20);  // a sanitizer keeps what was freed for a while, within a bound of its own
#else
  EXPECT_LT(support::resident_bytes() - early, 8 << 20);
#endif
  EXPECT_LE(mw::runtime_stats().communicators - before, 4);
}

TEST(PlacementCosts, U143_PrintingDoesNotGather) {
  const auto mesh = make_mesh({8}, {"x"});
  const auto x = mw::device_put(mw::zeros({100'000, 100}), NamedSharding(mesh, P("x")));
  mw::barrier();
  const auto before = support::snapshot();
  const auto text = mw::to_string(x);
  EXPECT_EQ((support::snapshot() - before).calls, 0u);
  for (const auto* word : {"shape=(100000, 100)", "float32", "P('x',)", "Mesh("}) EXPECT_NE(text.find(word), std::string::npos) << text;
}

}  // namespace

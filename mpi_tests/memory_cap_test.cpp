// ranks: 1 2 4
// variant: private ranks=4 MESHWISE_STORE=private
// devices_per_rank: 4@2
// env: MESHWISE_MEMORY_LIMIT=40000000
// timeout: 120
// The cap is reached in the middle of a chain: the error is agreed, nothing is lost, and the next call works.
#include <gtest/gtest.h>

#include <meshwise/meshwise.hpp>

#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

mw::Array eight_megabytes_a_rank(const mw::Sharding& where) {
  return mw::device_put(mw::full({mw::process_count() * 1000, 1000}, 1, mw::float64), where);
}

TEST(MemoryCap, ReachedInAChainItIsAgreedAndTheNextCallWorks) {
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  const NamedSharding rows(mesh, P("x")), columns(mesh, P(nullptr, "x"));
  const auto x = eight_megabytes_a_rank(rows);
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::vector<mw::Array> chain{x};
    const auto words = support::words<mw::OutOfMemoryError>([&] {
      mw::agree([&] {
        for (int k = 0; k < 20; ++k) chain.push_back(mw::device_put(chain.back(), k % 2 == 0 ? columns : rows) + 1.0f);
      });
    });
    for (const auto* part : {"MESHWISE_MEMORY_LIMIT is 40000000", "bytes of blocks are live", "the largest"}) EXPECT_NE(words.find(part), std::string::npos) << words;
    chain.clear();
    const auto total = mw::sum(mw::device_put(x, columns));
    EXPECT_EQ(total.item<double>(), static_cast<double>(x.size()));
    for (const auto& shard : x.addressable_shards()) EXPECT_EQ(shard.data().view<double>()[0], 1.0);
  }
}

TEST(MemoryCap, WhatIsDonatedFitsWhereBothDoNot) {
  if (mw::devices().devices_per_rank() != 1) GTEST_SKIP() << "blocks are too small to move in parts";
#ifdef MESHWISE_SANITIZED
  if (mw::memory_stats().store == "private") GTEST_SKIP() << "under a sanitizer each private block is an allocation of its own";
#endif
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  const NamedSharding rows(mesh, P("x")), columns(mesh, P(nullptr, "x"));
  const auto n = mw::process_count();
  auto x = mw::device_put(mw::full({n * 3000, 1000}, 1, mw::float64), rows);  // 24 MB of the 40
  for (int k = 0; k < 4; ++k) x = mw::device_put(x, k % 2 == 0 ? columns : rows, {.donate = true});
  EXPECT_EQ(mw::sum(x).item<double>(), static_cast<double>(n) * 3e6);
  const auto live = mw::memory_stats().live;
  EXPECT_NEAR(static_cast<double>(live), 24e6, 1e6);
  if (n == 1) return;
  EXPECT_THROW(mw::agree([&] { mw::device_put(x, columns); }), mw::OutOfMemoryError);
  EXPECT_EQ(mw::sum(x).item<double>(), static_cast<double>(n) * 3e6);
}

TEST(MemoryCap, WhatFitsNowhereIsRefusedByAllAtTheCall) {
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  const auto x = eight_megabytes_a_rank(NamedSharding(mesh, P("x")));
  const auto live = mw::memory_stats().live;
  const auto words = support::words<mw::OutOfMemoryError>([&] { mw::device_put(mw::zeros({6'000'000}, mw::float64), NamedSharding(mesh, P())); });
  EXPECT_NE(words.find("48000000 bytes each"), std::string::npos) << words;
  EXPECT_EQ(mw::memory_stats().live, live);
  EXPECT_EQ(mw::sum(x).item<double>(), static_cast<double>(x.size()));
}

}  // namespace

// ranks: 1 2 4
// variant: private ranks=4 MESHWISE_STORE=private
// variant: nodes ranks=4 MESHWISE_NODE_SIZE=2
// devices_per_rank: 4@2
// timeout: 120
// Large donated arrays: their memory goes as the result's comes, and what somebody else still holds stays.
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "support/row_major_numbers.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;
using support::numbered, support::wrong_numbers;

namespace {

constexpr std::int64_t rank_bytes = std::int64_t{32} << 20;

std::int64_t devices_here() { return mw::devices().devices_per_rank(); }

/// About 32 MiB of float64 a device; with `odd` no length divides evenly.
mw::Array large(const mw::Sharding& where, std::int64_t odd = 0) {
  return mw::device_put(numbered({rank_bytes * mw::devices().size() / 8 / 2048 + odd, 2048 + odd}, mw::float64), where);
}

void expect_values(const mw::Array& x) { EXPECT_EQ(wrong_numbers<double>(x), 0) << to_string(x.sharding()); }

/// Under a sanitizer each private block is an allocation of its own, whose pages the library does not handle.
bool pages_come_and_go() {
#ifdef MESHWISE_SANITIZED
  return mw::memory_stats().store == "arena";
#else
  return true;
#endif
}

mw::Mesh line() { return support::line(mw::devices().size()); }

TEST(Donate, ThePeakIsOneOfBothAndALittle) {
  const NamedSharding rows(line(), P("x")), columns(line(), P(nullptr, "x"));
  const auto x = large(rows);
  mw::block_until_ready(x);
  const auto y = mw::device_put(x, columns, {.donate = true});
  mw::block_until_ready(y);
  mw::barrier();
  if (mw::devices().size() > 1 && pages_come_and_go()) { EXPECT_LE(static_cast<double>(mw::memory_stats().physical_peak), 0.6 * 2 * static_cast<double>(rank_bytes * devices_here())); }
  expect_values(y);
  EXPECT_TRUE(x.is_deleted());
  EXPECT_THROW(x + 1.0f, mw::DonatedError);
}

TEST(Donate, EveryLayoutArrives) {
  const auto n = mw::devices().size();
  const auto grid = n % 4 == 0 ? mw::make_mesh({n / 2, 2}, {"x", "y"}) : mw::make_mesh({n, 1}, {"x", "y"});
  const std::vector<mw::PartitionSpec> specs{P("x"), P(nullptr, "x"), P("x", "y"), P("y", "x"), P({"x", "y"}), P(nullptr, {"y", "x"})};
  for (std::size_t from = 0; from < specs.size(); ++from)
    for (const auto to : {(from + 1) % specs.size(), (from + 3) % specs.size()}) {
      const auto x = large(NamedSharding(grid, specs[from]), from % 2 == 0 ? 3 : 0);
      expect_values(mw::device_put(x, NamedSharding(grid, specs[to]), {.donate = true}));
    }
}

TEST(Donate, WhatOthersHoldStays) {
  const NamedSharding rows(line(), P("x")), columns(line(), P(nullptr, "x"));
  const NamedSharding alias(mw::make_mesh({mw::devices().size()}, {"other"}), P("other"));
  const auto x = large(rows);
  const auto same_blocks = mw::device_put(x, alias);
  const auto part = x[{mw::Slice(0, 4)}];
  const auto under_way = mw::device_put(x, columns);  // may still be reading when x goes
  const auto y = mw::device_put(x, columns, {.donate = true});
  expect_values(y);
  expect_values(same_blocks);
  expect_values(under_way);
  for (const auto& shard : part.addressable_shards())
    if (shard.data().size() > 0) { EXPECT_EQ(shard.data().view<double>()(0, 0), static_cast<double>(2048 * shard.index()[0].start)); }
}

TEST(Donate, MemoryIsFlatAndTheNextArrayFindsIt) {
  const NamedSharding rows(line(), P("x")), columns(line(), P(nullptr, "x"));
  auto x = large(rows);
  std::int64_t early = 0;
  for (int i = 0; i < 6; ++i) {
    x = mw::device_put(x, i % 2 == 0 ? columns : rows, {.donate = true});
    mw::block_until_ready(x);
    mw::barrier();
    if (i == 1) early = mw::memory_stats().physical;
  }
  expect_values(x);
  EXPECT_LE(mw::memory_stats().physical, early + (std::int64_t{1} << 20));
}

// The ranks that did not fail had given the array up.
TEST(Donate, AFailedAgreementGivesBack) {
  const NamedSharding rows(line(), P("x")), columns(line(), P(nullptr, "x"));
  for (const bool in_parts : {false, true}) {
    const auto x = in_parts ? large(rows) : mw::device_put(numbered({64, 48}, mw::float64), rows);
    mw::Tree leaves(std::vector<mw::Array>{mw::device_put(x, columns), mw::ones({4})});
    mw::Array y;
    for (const auto rank : std::set<std::int64_t>{0, mw::process_count() - 1}) {
      const auto words = support::words<std::exception>([&] {
        mw::agree([&] {
          y = mw::device_put(x, columns, {.donate = true});
          EXPECT_TRUE(x.is_deleted());
          mw::agree([&] { mw::device_put(leaves, rows, {.donate = true}); });
          if (mw::process_index() == rank) throw std::runtime_error("this rank alone");
        });
      });
      EXPECT_NE(words.find("this rank alone"), std::string::npos) << words;
      EXPECT_FALSE(x.is_deleted());
      expect_values(x);
      for (const auto& leaf : mw::tree_leaves(leaves)) EXPECT_FALSE(leaf.is_deleted());
      expect_values(mw::tree_leaves(leaves).front());
    }
    mw::agree([&] {
      EXPECT_THROW(mw::agree([&] {
                     y = mw::device_put(x, columns, {.donate = true});
                     throw std::runtime_error("every rank");
                   }),
                   std::runtime_error);
      expect_values(x);
      y = mw::device_put(x, columns, {.donate = true});
    });
    EXPECT_TRUE(x.is_deleted());
    expect_values(y);
  }
}

TEST(Donate, AnAgreementThatHeldLetsGo) {
  const NamedSharding rows(line(), P("x")), columns(line(), P(nullptr, "x"));
  const auto x = large(rows);
  mw::block_until_ready(x);
  mw::barrier();
  const auto before = mw::memory_stats().live;
  mw::Array y;
  mw::agree([&] { y = mw::device_put(x, columns, {.donate = true}); });
  mw::block_until_ready(y);
  mw::barrier();
  EXPECT_LE(mw::memory_stats().live, before + (std::int64_t{1} << 20));
  expect_values(y);
}

}  // namespace

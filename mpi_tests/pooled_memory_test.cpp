// ranks: 1 2 4
// variant: private ranks=2 MESHWISE_STORE=private
// variant: small_pool ranks=2 MESHWISE_POOL_BYTES=1000000
// variant: no_pool ranks=2 MESHWISE_POOL_BYTES=0
// variant: limited ranks=2 MESHWISE_MEMORY_LIMIT=20000000
// What dropped arrays leave behind: memory for the next ones, within the pool's bound, until trim() gives it back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "support/row_major_numbers.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;
using support::line, support::numbered, support::wrong_numbers;

namespace {

std::int64_t pool_bound() {
  const char* const asked = std::getenv("MESHWISE_POOL_BYTES");
  return asked ? std::atoll(asked) : std::int64_t{1} << 40;
}

std::int64_t limit() {
  const auto asked = mw::setting("MESHWISE_MEMORY_LIMIT");
  return asked.empty() ? std::int64_t{1} << 40 : std::atoll(asked.c_str());
}

#ifndef MESHWISE_SANITIZED  // there every private block is its own allocation

TEST(PooledMemory, DroppedArraysLeaveTheirMemory) {
  const auto n = mw::devices().size();
  const NamedSharding rows(line(n), P("x"));
  mw::trim();
  const auto before = mw::memory_stats();
  {
    const auto x = mw::device_put(numbered({n * 256, 1024}, mw::float64), rows);  // 2 MiB a device
    EXPECT_GE(mw::memory_stats().live, before.live + (2 << 20));
  }
  mw::barrier();  // no rank reads any more
  const auto dropped = mw::memory_stats();
  EXPECT_EQ(dropped.live, before.live);
  EXPECT_LE(dropped.pooled, pool_bound());
  if (pool_bound() > (4 << 20)) { EXPECT_GE(dropped.pooled, 2 << 20); }
  const auto again = mw::device_put(numbered({n * 256, 1024}, mw::float64), rows);
  if (pool_bound() > (4 << 20)) { EXPECT_EQ(mw::memory_stats().physical + mw::memory_stats().pooled, dropped.physical + dropped.pooled) << "the pool served it"; }
  EXPECT_EQ(wrong_numbers<double>(again), 0);
}

TEST(PooledMemory, TrimGivesThePoolBackAndNothingElse) {
  const auto n = mw::devices().size();
  const NamedSharding rows(line(n), P("x")), columns(line(n), P(nullptr, "x"));
  const auto kept = mw::device_put(numbered({512, 512}, mw::float64), rows);
  { const auto dropped = mw::device_put(kept, columns); }
  mw::quiesce();
  mw::barrier();
  mw::trim();
  const auto trimmed = mw::memory_stats();
  EXPECT_EQ(trimmed.pooled, 0);
  EXPECT_EQ(wrong_numbers<double>(kept), 0);
  const auto after = mw::device_put(kept, columns);
  EXPECT_EQ(wrong_numbers<double>(after), 0);
}

TEST(PooledMemory, ABlockTakesThePagesOfItsBytes) {
  mw::trim();
  const auto start = mw::memory_stats();
  const auto taken = [&] { return mw::memory_stats().physical - start.physical; };
  for (const std::int64_t bytes : {300'000, 1'100'000, 5'500'000, 5'300'000, 5'900'000}) {  // the last three are of one size class, so recycled ones grow
    const mw::LocalArray block({bytes}, mw::uint8);
    std::memset(block.data(), 7, static_cast<std::size_t>(bytes));
    EXPECT_GE(taken(), bytes);
    EXPECT_LT(taken(), std::max<std::int64_t>(bytes, bytes == 5'300'000 ? 5'500'000 : 0) + 4096) << bytes;
  }
  mw::trim();
  EXPECT_EQ(mw::memory_stats().physical, start.physical);
  EXPECT_EQ(mw::memory_stats().pooled, 0);
}

#endif

TEST(PooledMemory, TheBoundHoldsThroughManySizes) {
  const auto n = mw::devices().size();
  const NamedSharding rows(line(n), P("x")), columns(line(n), P(nullptr, "x"));
  for (std::int64_t side = 16; side < 1100; side += side / 3) {
    const auto x = mw::device_put(numbered({side, side}, mw::int64), rows);
    EXPECT_EQ(wrong_numbers<std::int64_t>(mw::reshard(x, P(nullptr, "x"))), 0);
    EXPECT_LE(mw::memory_stats().pooled, pool_bound());
    EXPECT_LE(mw::memory_stats().physical + mw::memory_stats().pooled, limit());
  }
  EXPECT_LE(mw::memory_stats().physical_peak, limit());
}

}  // namespace

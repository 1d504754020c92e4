// ranks: 1 2 4
// internals: src
// Plans of redistributions that are kept: which calls share one, how many there can be, and what becomes of one that had to go.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "array/move_plan.hpp"
#include "array/run.hpp"
#include "array/state.hpp"
#include "support/resident_bytes.hpp"
#include "support/row_major_numbers.hpp"
#include "support/runtime_calls.hpp"

namespace mw = meshwise;
using mw::Array, mw::Dtype, mw::NamedSharding, mw::P, mw::Shape;
using mw::detail::MovePlan;
using support::line, support::numbered, support::wrong_numbers;

namespace {

std::shared_ptr<const MovePlan> plan_of(const Array& x, const mw::Sharding& to) {
  return mw::detail::plan_reshard(mw::detail::ready_shards(x), x.sharding(), to, x.shape(), x.dtype());
}

NamedSharding rows() { return {line(mw::devices().size()), P("x")}; }
NamedSharding columns() { return {line(mw::devices().size()), P(nullptr, "x")}; }

/// An array in rows, nothing written.
Array empty_rows(const Shape& shape, Dtype dtype = mw::float32) {
  const mw::Sharding sharding = rows();
  std::vector<mw::detail::LocalShard> shards;
  for (const auto position : mw::detail::local_positions(sharding.devices()))
    shards.push_back({position, mw::LocalArray(sharding.index_at(shape, position).shape(), dtype)});
  return mw::detail::make_sharded_array(shape, dtype, sharding, true, std::move(shards));
}

TEST(PlanCache, EqualCallsShareOnePlan) {
  const auto x = empty_rows({24, 36});
  const auto plan = plan_of(x, columns());
  EXPECT_EQ(plan_of(x, columns()), plan) << "a mesh and a sharding made anew are the same";
  EXPECT_EQ(plan_of(empty_rows({24, 36}), columns()), plan) << "another array that lies alike";
  EXPECT_EQ(plan_of(empty_rows({24, 36}, mw::int32), columns()), plan) << "bytes are bytes";
  // The public calls come to the same plan.
  const auto kept = mw::detail::kept_plan_bytes();
  mw::block_until_ready(mw::reshard(x, P(nullptr, "x")));
  mw::block_until_ready(mw::device_put(x, columns()));
  EXPECT_EQ(mw::detail::kept_plan_bytes(), kept);
}

TEST(PlanCache, WhatDiffersIsPlannedAnew) {
  const auto n = mw::devices().size();
  const auto x = empty_rows({24, 36});
  const auto plan = plan_of(x, columns());
  std::vector<std::shared_ptr<const MovePlan>> all{plan, plan_of(empty_rows({24, 36}, mw::float64), columns()), plan_of(empty_rows({36, 24}), columns()),
                                                   plan_of(empty_rows({24, 37}), columns()), plan_of(x, NamedSharding(line(n), P()))};
  if (n > 1) {
    const auto reversed = mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()});
    all.push_back(plan_of(x, NamedSharding(reversed, P(nullptr, "x"))));
    all.push_back(plan_of(mw::device_put(x, NamedSharding(reversed, P("x"))), columns()));
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(all[i], all[k]) << i << " and " << k;
  EXPECT_EQ(plan_of(x, columns()), plan) << "the first is still there";
  // A window on a larger block is no block of its own: its plan would not hold for another.
  const auto kept = mw::detail::kept_plan_bytes();
  const auto window = x[{mw::Slice(), mw::Slice(0, 30)}];
  ASSERT_FALSE(mw::detail::lies_plainly(mw::detail::ready_shards(window).front()));
  EXPECT_NE(plan_of(window, columns()), plan_of(window, columns()));
  EXPECT_EQ(mw::detail::kept_plan_bytes(), kept);
}

TEST(PlanCache, TenThousandShapesStayWithinTheBound) {
  const auto x = mw::device_put(numbered({17, 19}, mw::float32), rows());
  auto held = plan_of(x, columns());
  const std::weak_ptr<const MovePlan> dropped = plan_of(empty_rows({17, 23}), columns());
  const auto often = empty_rows({5, 7}, mw::float64);
  const auto plan_often = plan_of(often, columns());
  ASSERT_FALSE(dropped.expired());
  [[maybe_unused]] const auto resident = support::resident_bytes();
  std::size_t most = 0, again = 0;
  for (std::int64_t k = 0; k < 10'000; ++k) {
    plan_of(empty_rows({1 + k / 100, 1 + k % 100}, mw::int8), columns());
    most = std::max(most, mw::detail::kept_plan_bytes());
    if (k % 50 == 0) again += plan_of(often, columns()) == plan_often ? 1 : 0;
  }
  EXPECT_LE(most, mw::detail::most_kept_plan_bytes);
  EXPECT_EQ(again, 200u) << "what is used stays";
  if (mw::process_count() == 1) return;  // plans without peers are so small that all fit
  EXPECT_GT(most, mw::detail::most_kept_plan_bytes / 2);
  EXPECT_TRUE(dropped.expired());
#ifndef MESHWISE_SANITIZED
  EXPECT_LT(support::resident_bytes() - resident, 3 * static_cast<std::int64_t>(mw::detail::most_kept_plan_bytes)) << "the plans are as large as they say";
#endif
  // Whoever still holds a plan that had to go can use it, and a new one is as good.
  EXPECT_NE(plan_of(x, columns()), held);
  const auto ticket = support::enter("reshard", mw::devices());
  const std::span<const mw::detail::LocalShard> source = mw::detail::ready_shards(x);
  auto moved = mw::detail::run_plan(*held, {&source, 1}, x.dtype(), nullptr, {}, ticket);
  held.reset();
  const auto y = mw::detail::make_sharded_array(x.shape(), x.dtype(), columns(), true, std::move(moved.shards), std::move(moved.transfer));
  EXPECT_EQ(wrong_numbers<float>(y), 0);
  EXPECT_EQ(wrong_numbers<float>(mw::reshard(x, P(nullptr, "x"))), 0);
}

}  // namespace

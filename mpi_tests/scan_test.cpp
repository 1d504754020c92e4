// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// Running totals and differences along any axis of any layout against plain loops.
#include <gtest/gtest.h>

#include "support/exact.hpp"

namespace mw = meshwise;
using mw::Array, mw::Dtype, mw::LocalArray, mw::NamedSharding, mw::P, mw::Shape;
using mw::testing::RandomPlacement, mw::testing::Whole;

namespace {

Dtype total_dtype(Dtype dtype, bool product) {
  if (dtype == mw::bool_) return mw::int32;
  if (product || mw::is_floating(dtype) || mw::is_complex(dtype) || mw::itemsize(dtype) >= 4) return dtype;
  return mw::kind(dtype) == mw::DtypeKind::unsigned_integer ? mw::uint32 : mw::int32;
}

TEST(Scan, EveryDtypeAxisAndLayoutAgainstALoop) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto shape = random.shape(1 + random.below(3));
    const auto dtype = random.dtype();
    const bool product = random.below(2) == 0, initial = random.below(2) == 0;
    const auto host = mw::testing::small_values(random, shape, dtype, product ? 1 : 3);
    const auto x = mw::testing::placed(random, host, mesh);
    const auto axis = random.below(shape.ndim());
    const auto got = product ? mw::cumulative_prod(x, axis, {}, initial) : mw::cumulative_sum(x, axis, {}, initial);
    const auto what = fmt::format("seed {}: {} on {}, axis {}{}{}", seed, mw::type_string(x), mw::to_string(mesh), axis, product ? ", products" : "", initial ? ", from the start" : "");
    const auto result = total_dtype(dtype, product);
    ASSERT_EQ(got.dtype(), result) << what;
    auto longer = shape;
    longer[axis] += initial;
    ASSERT_EQ(got.shape(), longer) << what;
    const auto values = mw::testing::wholes(mw::device_get(got));
    const auto from = mw::testing::wholes(host);
    std::int64_t inner = 1;
    for (auto d = axis + 1; d < shape.ndim(); ++d) inner *= shape[d];
    const auto n = shape[axis], m = longer[axis];
    const auto start = mw::testing::in_dtype(Whole{product ? 1 : 0, 0}, result);
    for (std::int64_t line = 0; line < (m > 0 ? got.size() / m : 0); ++line) {
      auto total = start;
      const auto at = [&](std::int64_t i, std::int64_t length) { return static_cast<std::size_t>((line / inner * length + i) * inner + line % inner); };
      if (initial) {
        ASSERT_EQ(values[at(0, m)], start) << what;
      }
      for (std::int64_t i = 0; i < n; ++i) {
        const auto next = from[at(i, n)];
        total = mw::testing::in_dtype(product ? total * next : total + next, result);
        ASSERT_EQ(values[at(i + initial, m)], total) << what << ", line " << line << ", element " << i;
      }
    }
  }
}

TEST(Scan, ResultsLieAsTheirOperands) {
  const auto n = mw::devices().size();
  const NamedSharding line(mw::make_mesh({n}, {"x"}), P("x"));
  const auto x = mw::device_put(mw::ones({1000 * n}), line);
  const auto totals = mw::cumulative_sum(x);
  EXPECT_TRUE(totals.sharding() == x.sharding());
  EXPECT_EQ(mw::device_get(totals).view<float>()[1000 * n - 1], static_cast<float>(1000 * n));
}

// What is carried from part to part is not rounded to the result's dtype on the way.
TEST(Scan, TotalsOfPartsKeepTheirDigits) {
  const auto n = mw::devices().size();
  const NamedSharding line(mw::make_mesh({n}, {"x"}), P("x"));
  const auto count = 4096 * n;
  const auto got = mw::device_get(mw::cumulative_sum(mw::device_put(mw::full({count}, 0.1f), line)));
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    total += static_cast<double>(0.1f);
    ASSERT_EQ(got.view<float>()[i], static_cast<float>(total)) << i;
  }
}

TEST(Scan, Diff) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto length = 1 + random.below(20);
    LocalArray host({length}, mw::int32);
    std::vector<std::int64_t> want;
    for (std::int64_t i = 0; i < length; ++i) want.push_back(host.mutable_view<std::int32_t>()[i] = static_cast<std::int32_t>(random.below(100)));
    const auto times = random.below(4);
    for (std::int64_t t = 0; t < times; ++t) {
      for (std::size_t i = 0; i + 1 < want.size(); ++i) want[i] = want[i + 1] - want[i];
      if (!want.empty()) want.pop_back();
    }
    const auto got = mw::device_get(mw::diff(mw::device_put(mw::asarray(host), NamedSharding(mesh, random.spec(mesh, 1))), 0, times));
    ASSERT_EQ(got.size(), std::ssize(want)) << seed;
    for (std::int64_t i = 0; i < got.size(); ++i) EXPECT_EQ(got.view<std::int32_t>()[i], want[static_cast<std::size_t>(i)]) << seed;
  }
}

}  // namespace

// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// variant: nodes2 ranks=4 MESHWISE_NODE_SIZE=2
// variant: dealt ranks=5 MESHWISE_NODES=0,1
// variant: unchecked ranks=4 MESHWISE_CHECK=off
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// Reductions over any axes of arrays of any layout against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/exact.hpp"
#include "support/need_devices.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::Array, mw::Dtype, mw::LocalArray, mw::NamedSharding, mw::P, mw::Shape;
using mw::testing::RandomPlacement, mw::testing::Whole;
using Axes = std::vector<std::int64_t>;

namespace {

mw::Mesh line(std::int64_t n) { return mw::make_mesh({n}, {"x"}, {.devices = mw::devices().first(n)}); }
Array iota(const Shape& shape, Dtype dtype = mw::float32) { return mw::arange(shape.num_elements(), dtype).reshape(shape); }

template <class T>
std::vector<T> values(const Array& x) {
  const auto whole = mw::device_get(x);
  return {whole.view<T>().begin(), whole.view<T>().end()};
}

Dtype total_dtype(Dtype d) {
  if (mw::itemsize(d) >= 4 || mw::is_floating(d)) return d;
  return mw::kind(d) == mw::DtypeKind::unsigned_integer ? mw::uint32 : mw::int32;
}

/// The elements that go into each element of the result, in row-major order.
std::vector<std::vector<Whole>> groups(const std::vector<Whole>& x, const Shape& shape, const Axes& axes, std::int64_t results) {
  std::vector<std::vector<Whole>> out(static_cast<std::size_t>(results));
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    const auto at = mw::testing::coordinates(i, shape);
    std::int64_t to = 0;
    for (std::int64_t d = 0; d < shape.ndim(); ++d)
      if (std::find(axes.begin(), axes.end(), d) == axes.end()) to = to * shape[d] + at[static_cast<std::size_t>(d)];
    out[static_cast<std::size_t>(to)].push_back(x[static_cast<std::size_t>(i)]);
  }
  return out;
}

TEST(Reduce, EveryDtypeAxesAndLayoutAgainstALoop) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto shape = random.shape(random.below(4));
    const auto dtype = random.dtype();
    const auto host = mw::testing::small_values(random, shape, dtype, 2);
    const auto x = mw::testing::placed(random, host, mesh);
    Axes axes, given;
    for (std::int64_t d = 0; d < shape.ndim(); ++d)
      if (random.below(2) == 0) axes.push_back(d);
    for (const auto a : axes) given.push_back(random.below(2) == 0 ? a : a - shape.ndim());
    if (random.below(2) == 0) std::reverse(given.begin(), given.end());
    if (axes.empty())
      for (std::int64_t d = 0; d < shape.ndim(); ++d) axes.push_back(d);
    const bool keep = random.below(2) == 0;
    Shape result;
    for (std::int64_t d = 0; d < shape.ndim(); ++d) {
      const bool kept = std::find(axes.begin(), axes.end(), d) == axes.end();
      if (kept || keep) result.push_back(kept ? shape[d] : 1);
    }
    const auto in = groups(mw::testing::wholes(host), shape, axes, result.num_elements());
    std::vector<Whole> sums, alls, anys, largest, smallest, counts;
    bool nothing = false;
    for (const auto& g : in) {
      Whole sum{}, most{}, least{};
      std::int64_t count = 0;
      for (std::size_t i = 0; i < g.size(); ++i) {
        sum = sum + g[i];
        count += g[i] == Whole{} ? 0 : 1;
        if (i == 0 || g[i].re > most.re) most = g[i];
        if (i == 0 || g[i].re < least.re) least = g[i];
      }
      sums.push_back(mw::testing::in_dtype(sum, total_dtype(dtype)));
      alls.push_back({count == static_cast<std::int64_t>(g.size()), 0});
      anys.push_back({count > 0, 0});
      counts.push_back({count, 0});
      largest.push_back(most);
      smallest.push_back(least);
    }
    for (const auto a : axes) nothing = nothing || shape[a] == 0;
    const auto what = type_string(x) + " seed " + std::to_string(seed);
    // Sums of small whole numbers are exact, in the 16-bit floats up to 256 terms of at most 2 of either sign.
    if (mw::itemsize(dtype) != 2 || !mw::is_floating(dtype) || shape.num_elements() <= 128) {
      ASSERT_EQ(mw::testing::wrong(mw::sum(x, given, keep), result, total_dtype(dtype), sums), "") << what;
    }
    ASSERT_EQ(mw::testing::wrong(mw::all(x, given, keep), result, mw::bool_, alls), "") << what;
    ASSERT_EQ(mw::testing::wrong(mw::any(x, given, keep), result, mw::bool_, anys), "") << what;
    ASSERT_EQ(mw::testing::wrong(mw::count_nonzero(x, given, keep), result, mw::int32, counts), "") << what;
    if (mw::is_complex(dtype)) {
      ASSERT_THROW(mw::max(x, given, keep), mw::DtypeError) << what;
    } else if (nothing) {
      ASSERT_THROW(mw::max(x, given, keep), mw::ShapeError) << what;
      ASSERT_THROW(mw::min(x, given, keep), mw::ShapeError) << what;
    } else {
      ASSERT_EQ(mw::testing::wrong(mw::max(x, given, keep), result, dtype, largest), "") << what;
      ASSERT_EQ(mw::testing::wrong(mw::min(x, given, keep), result, dtype, smallest), "") << what;
    }
  }
}

TEST(Reduce, PositionsOfTheFirstOfEquals) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto shape = random.shape(1 + random.below(3));
    const auto dtype = static_cast<Dtype>(random.below(13));
    const auto host = mw::testing::small_values(random, shape, dtype, 3);  // many ties
    const auto x = mw::testing::placed(random, host, mesh);
    const auto numbers = mw::testing::wholes(host);
    const bool flat = random.below(3) == 0, keep = random.below(2) == 0;
    const auto axis = random.below(shape.ndim());
    Axes axes{axis};
    if (flat) {
      axes.clear();
      for (std::int64_t d = 0; d < shape.ndim(); ++d) axes.push_back(d);
    }
    Shape result;
    for (std::int64_t d = 0; d < shape.ndim(); ++d) {
      const bool kept = !flat && d != axis;
      if (kept || keep) result.push_back(kept ? shape[d] : 1);
    }
    const auto given = flat ? std::nullopt : std::optional(axis - (random.below(2) == 0 ? shape.ndim() : 0));
    if ((flat && shape.num_elements() == 0) || (!flat && shape[axis] == 0)) {
      ASSERT_THROW(mw::argmax(x, given, keep), mw::ShapeError);
      continue;
    }
    std::vector<Whole> most, least;
    for (const auto& g : groups(numbers, shape, axes, result.num_elements())) {
      std::size_t m = 0, l = 0;
      for (std::size_t i = 0; i < g.size(); ++i) {
        if (g[i].re > g[m].re) m = i;
        if (g[i].re < g[l].re) l = i;
      }
      most.push_back({static_cast<std::int64_t>(m), 0});
      least.push_back({static_cast<std::int64_t>(l), 0});
    }
    ASSERT_EQ(mw::testing::wrong(mw::argmax(x, given, keep), result, mw::int32, most), "") << type_string(x) << " seed " << seed;
    ASSERT_EQ(mw::testing::wrong(mw::argmin(x, given, keep), result, mw::int32, least), "") << type_string(x) << " seed " << seed;
  }
}

TEST(Reduce, NanWinsWhereverItLies) {
  const auto n = mw::devices().size();
  for (std::int64_t where = 0; where < 2 * n + 3; ++where) {
    std::vector<float> v;
    for (std::int64_t i = 0; i < 2 * n + 3; ++i) v.push_back(static_cast<float>(i % 5) - 2);
    v[static_cast<std::size_t>(where)] = std::numeric_limits<float>::quiet_NaN();
    for (const auto dtype : {mw::float32, mw::float64, mw::float16, mw::bfloat16}) {
      const auto x = mw::device_put(mw::asarray(v).astype(dtype), NamedSharding(line(n), P("x")));
      EXPECT_TRUE(std::isnan(mw::max(x).astype(mw::float32).item<float>()));
      EXPECT_TRUE(std::isnan(mw::min(x).astype(mw::float32).item<float>()));
      EXPECT_EQ(mw::argmax(x).item<std::int32_t>(), where);
      EXPECT_EQ(mw::argmin(x, 0).item<std::int32_t>(), where);
    }
  }
}

TEST(Reduce, MeansVariancesAndProducts) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const Shape shape{1 + random.below(9), 1 + random.below(9), 1 + random.below(5)};
    const auto dtype = random.dtype();
    const auto host = mw::testing::small_values(random, shape, dtype, 3);
    const auto x = mw::testing::placed(random, host, mesh);
    const Axes axes{0, 2};
    double bound = mw::itemsize(dtype) == 2 && mw::is_floating(dtype) ? 0.03 : 1e-5;
    const auto in = groups(mw::testing::wholes(host), shape, axes, shape[1]);
    const auto mean = mw::device_get(mw::mean(x, axes).astype(mw::complex128)), var = mw::device_get(mw::var(x, axes).astype(mw::float64)),
               std = mw::device_get(mw::stddev(x, axes).astype(mw::float64)),
               prod = mw::device_get(mw::prod(mw::sign(x.astype(mw::float32)) + 0.5, axes));
    for (std::size_t j = 0; j < in.size(); ++j) {
      std::complex<double> sum{};
      double squares = 0, product = 1;
      for (const auto v : in[j]) sum += std::complex<double>(static_cast<double>(v.re), static_cast<double>(v.im));
      const auto n = static_cast<double>(in[j].size());
      for (const auto v : in[j]) squares += std::norm(std::complex<double>(static_cast<double>(v.re), static_cast<double>(v.im)) - sum / n);
      for (const auto v : in[j]) product *= (v.re > 0 ? 1.5 : v.re < 0 ? -0.5 : 0.5);
      const auto i = static_cast<std::int64_t>(j);
      EXPECT_LE(std::abs(mean.view<std::complex<double>>()[i] - sum / n), bound * 4) << name(dtype);
      EXPECT_NEAR(var.view<double>()[i], squares / n, bound * 20) << name(dtype);
      EXPECT_NEAR(std.view<double>()[i], std::sqrt(squares / n), bound * 20) << name(dtype);
      EXPECT_NEAR(prod.view<float>()[i], product, std::abs(product) * 1e-5) << name(dtype);
    }
  }
}

// Exact in float64, rounded once; the 16-bit floats too, far beyond the numbers where their own additions would stop.
TEST(Reduce, FloatsAccumulateWiderThanTheyAre) {
  const auto n = mw::devices().size();
  const NamedSharding s(line(n), P("x"));
  EXPECT_EQ(mw::sum(mw::device_put(mw::ones({5000}, mw::float16), s)).astype(mw::float32).item<float>(), 5000.0f);
  EXPECT_EQ(mw::sum(mw::device_put(mw::ones({70000}, mw::bfloat16), s)).astype(mw::float32).item<float>(), 70144.0f);
  EXPECT_EQ(mw::sum(mw::device_put(mw::full({1 << 20}, 16777217.0, mw::float32), s)).item<float>(), 16777216.0f * (1 << 20));
  EXPECT_EQ(mw::mean(mw::device_put(mw::full({3000}, 1e38f), s)).item<float>(), 1e38f);
}

// The bound that reduce.hpp states, against sums with eleven more bits: of whole arrays, rows and columns, on every layout.
TEST(Reduce, SumsAreWithinTheStatedBound) {
  const Shape shape{37, 611};
  const auto x = mw::random::normal(mw::random::key(5), shape, mw::float64) + 0.1;
  const auto host = mw::device_get(x);
  const auto expect_sums = [&](const Array& y, const Axes& axes) {
    const auto got = mw::device_get(mw::sum(y, axes));
    const auto narrow = mw::device_get(mw::sum(y.astype(mw::float32), axes));
    for (std::int64_t at = 0; at < got.size(); ++at) {
      long double exact = 0, size = 0, exact32 = 0, size32 = 0;
      std::int64_t n = 0;
      for (std::int64_t k = 0; k < host.size(); ++k) {
        const auto to = axes.size() == 2 ? 0 : axes[0] == 0 ? k % shape[1] : k / shape[1];
        if (to != at) continue;
        const double v = host.view<double>()[k];
        const float f = static_cast<float>(v);
        exact += v, size += std::abs(v), exact32 += f, size32 += std::abs(f), ++n;
      }
      const auto share = static_cast<long double>(n - 1) * 0x1p-53L;
      EXPECT_LE(std::abs(got.view<double>()[at] - exact), share * size) << to_string(y.sharding());
      EXPECT_LE(std::abs(narrow.view<float>()[at] - exact32), share * size32 + 0x1.001p-24L * std::abs(exact32)) << to_string(y.sharding());
    }
  };
  const auto n = mw::devices().size();
  for (const auto& spec : {P(), P("x"), P(nullptr, "x")})
    for (const auto& axes : {Axes{0}, Axes{1}, Axes{0, 1}}) expect_sums(mw::device_put(x, NamedSharding(line(n), spec)), axes);
}

using support::words;

TEST(Reduce, ErrorsNameTheOperationTheTypeAndTheAxis) {
  const auto x = mw::device_put(mw::zeros({0, 3}), NamedSharding(line(mw::devices().size()), P("x")));
  const auto empty = words<mw::ShapeError>([&] { return mw::max(x, {-2}); });
  for (const char* part : {"max", "zero-size array has no max", "float32[0,3]", "axis 0"})
    EXPECT_NE(empty.find(part), std::string::npos) << empty;
  EXPECT_EQ(mw::max(x, {1}).shape(), (Shape{0}));
  const auto complex = words<mw::DtypeError>([&] { return mw::min(x.astype(mw::complex64)); });
  for (const char* part : {"min", "complex64[0,3]", "bool, int8"}) EXPECT_NE(complex.find(part), std::string::npos) << complex;
  EXPECT_THROW(mw::sum(x, {2}), mw::IndexError);
  EXPECT_THROW(mw::sum(x, {0, -2}), mw::IndexError);
  EXPECT_THROW(mw::argmax(x, -3), mw::IndexError);
}

TEST(UserCases, U023_PartsWeighAsManyAsTheyHold) {
  NEED_DEVICES(2);
  const NamedSharding s(line(2), P("x"));
  EXPECT_EQ(mw::mean(mw::device_put(iota({3, 4}), s)).item<float>(), 5.5f);
  EXPECT_EQ(mw::mean(mw::device_put(iota({1, 4}), s)).item<float>(), 1.5f);
}

TEST(UserCases, U027_ASumIsWholeWhenHandedOut) {
  NEED_DEVICES(2);
  const auto s = mw::sum(mw::device_put(iota({10}), NamedSharding(line(2), P("x"))));
  EXPECT_EQ((s + 10).item<float>(), 55.0f);
  EXPECT_EQ((s * 2).item<float>(), 90.0f);
  EXPECT_EQ((1 / s).item<float>(), 1.0f / 45.0f);
  EXPECT_EQ((s + mw::asarray(10.0f)).item<float>(), 55.0f);
  EXPECT_EQ((mw::asarray(1.0f) / s).item<float>(), 1.0f / 45.0f);
}

TEST(UserCases, U029_ExtremesOfSums) {
  NEED_DEVICES(2);
  const auto x = mw::device_put(mw::asarray({{-5, 9}, {7, -8}}), NamedSharding(line(2), P("x")));
  EXPECT_EQ(mw::max(mw::sum(x, {0})).item<std::int32_t>(), 2);
  EXPECT_EQ(mw::min(mw::sum(x, {0})).item<std::int32_t>(), 1);
}

TEST(UserCases, U037_AnEmptyPartChangesNoExtreme) {
  NEED_DEVICES(4);
  std::vector<double> v(9, 1.0);
  const NamedSharding s(line(4), P(nullptr, "x"));
  EXPECT_EQ(mw::max(mw::device_put(mw::asarray(v, {3, 3}), s)).item<double>(), 1.0);
  v[8] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(mw::max(mw::device_put(mw::asarray(v, {3, 3}), s)).item<double>()));
}

TEST(UserCases, U038_ReductionsOfNothing) {
  for (const std::int64_t n : {std::int64_t{1}, mw::devices().size()}) {
    const auto x = mw::device_put(mw::zeros({0}), NamedSharding(line(n), P("x")));
    EXPECT_EQ(mw::sum(x).item<float>(), 0.0f);
    EXPECT_EQ(mw::prod(x).item<float>(), 1.0f);
    EXPECT_THROW(mw::max(x), mw::ShapeError);
    EXPECT_TRUE(std::isnan(mw::mean(x).item<float>()));
  }
}

TEST(UserCases, U041_TheSpecMovesWithItsAxis) {
  NEED_DEVICES(2);
  const auto m = line(2);
  const auto x = mw::device_put(mw::ones({2, 4}), NamedSharding(m, P(nullptr, "x")));
  const Array results[] = {mw::sum(x, {0}), x[0],
                           mw::mean(mw::device_put(mw::ones({2, 3, 4}), NamedSharding(m, P(nullptr, nullptr, "x"))), {1})};
  EXPECT_EQ(results[0].sharding().spec(), P("x"));
  EXPECT_EQ(results[1].sharding().spec(), P("x"));
  EXPECT_EQ(results[2].sharding().spec(), P(nullptr, "x"));
  for (const auto& r : results)
    for (const auto& shard : r.addressable_shards()) EXPECT_EQ(shard.data().shape()[r.ndim() - 1], 2);
}

TEST(UserCases, U042_PositionsCountThroughTheWhole) {
  NEED_DEVICES(3);
  const auto x = mw::abs(mw::arange(27) - 13).astype(mw::float64).reshape({3, 3, 3});
  for (const auto& spec : {P(nullptr, "x"), P(nullptr, nullptr, "x")}) {
    const NamedSharding s(line(3), spec);
    EXPECT_EQ(mw::argmin(mw::device_put(x, s)).item<std::int32_t>(), 13);
    EXPECT_EQ(mw::argmin(mw::device_put(mw::ones({3, 3, 3}, mw::float64), s)).item<std::int32_t>(), 0);
    EXPECT_EQ(mw::argmax(mw::device_put(x, s)).item<std::int32_t>(), 0);
  }
}

TEST(UserCases, U089_SumsAgreeAcrossRankCounts) {
  const auto i = mw::arange(1000000).astype(mw::float32);
  const auto x = 1.0f / (1.0f + i);
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, std::int64_t{5}, std::int64_t{8}}) {
    if (n > mw::devices().size()) break;
    const auto y = mw::device_put(x, NamedSharding(line(n), P("x")));
    const float first = mw::sum(y).item<float>();
    EXPECT_NEAR(first, 14.392727, 1e-4);
    EXPECT_EQ(mw::sum(y).item<float>(), first);
    for (const auto& shard : mw::sum(y).addressable_shards()) EXPECT_EQ(shard.data().view<float>()[0], first);
  }
}

TEST(UserCases, U091_TypesThatMpiCannotReduce) {
  NEED_DEVICES(4);
  const NamedSharding s(line(4), P("x"));
  const auto b = mw::device_put(iota({6}, mw::int32) % 2 == 0, s);
  EXPECT_TRUE(mw::any(b).item<bool>());
  EXPECT_FALSE(mw::all(b).item<bool>());
  EXPECT_EQ(mw::sum(b).item<std::int32_t>(), 3);
  const auto c = mw::device_put(iota({5}).astype(mw::complex64) + std::complex<float>(1, 1), s);
  EXPECT_EQ(mw::sum(c).item<std::complex<float>>(), std::complex<float>(15, 5));
  EXPECT_EQ(mw::prod(c).item<std::complex<float>>(), std::complex<float>(1, 1) * std::complex<float>(2, 1) * std::complex<float>(3, 1) *
                                                         std::complex<float>(4, 1) * std::complex<float>(5, 1));
  EXPECT_THROW(mw::max(c), mw::DtypeError);
  for (const auto dtype : {mw::float16, mw::bfloat16}) {
    const auto h = mw::device_put(iota({9}).astype(dtype), s);
    EXPECT_EQ(mw::sum(h).astype(mw::float32).item<float>(), 36.0f);
    EXPECT_EQ(mw::max(h).astype(mw::float32).item<float>(), 8.0f);
  }
}

}  // namespace

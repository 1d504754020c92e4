// ranks: 1 2 3 4 6 8
// devices_per_rank: 8 4@2
// variant: private ranks=3 MESHWISE_STORE=private
// Deterministic sums: the same bits on every layout and number of devices, near what they should be, and with the special values of any sum.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "support/exact.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape;
using mw::testing::RandomPlacement;

namespace {

/// Numbers of many magnitudes and both signs, the same on every rank.
Array awkward(const Shape& shape, mw::Dtype dtype, std::uint64_t seed) {
  const auto x = mw::random::normal(mw::random::key(seed), shape, mw::float64);
  const auto scale =
      mw::pow(2.0, mw::round(mw::random::normal(mw::random::key(seed + 1000), shape, mw::float64) * (itemsize(dtype) == 2 ? 2.0 : 12.0)));
  const auto values = x * scale;
  return dtype == mw::complex64 || dtype == mw::complex128
             ? (values + mw::Scalar(std::complex<double>(0, 1)) * mw::roll(values, 1)).astype(dtype)
             : values.astype(dtype);
}

std::uint64_t bits_of(const Array& x) {
  const auto whole = mw::device_get(x).contiguous();
  std::uint64_t h = 14695981039346656037ull;
  for (std::int64_t i = 0; i < whole.nbytes(); ++i) h = (h ^ static_cast<std::uint64_t>(whole.data()[i])) * 1099511628211ull;
  return h;
}

// Bits found by one device of this library, and elsewhere the same: the first two are of sums, the others of products.
TEST(Deterministic, TheSameBitsOnEveryLayout) {
  mw::deterministic scope;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomPlacement random(seed);
    const mw::Dtype dtypes[] = {mw::float32, mw::float64, mw::float16, mw::bfloat16, mw::complex64, mw::complex128};
    const auto dtype = dtypes[seed % 6];
    const Shape shape{3 + random.below(20), 1 + random.below(30), 2 + random.below(9)};
    const auto x = awkward(shape, dtype, seed);
    const auto y = mw::device_put(x, random.sharding(3));
    const std::vector<std::vector<std::int64_t>> axes{{}, {0}, {1}, {2}, {0, 2}, {1, 2}};
    const auto& along = axes[seed % axes.size()];
    ASSERT_EQ(bits_of(mw::sum(x, along)), bits_of(mw::sum(y, along))) << "sum, seed " << seed << " " << type_string(y);
    ASSERT_EQ(bits_of(mw::mean(x, along, true)), bits_of(mw::mean(y, along, true))) << "mean, seed " << seed << " " << type_string(y);
    ASSERT_EQ(bits_of(mw::var(x, along)), bits_of(mw::var(y, along))) << "var, seed " << seed << " " << type_string(y);
    ASSERT_EQ(bits_of(mw::cumulative_sum(x, 1)), bits_of(mw::cumulative_sum(y, 1)))
        << "cumulative_sum, seed " << seed << " " << type_string(y);
    const auto w = awkward({shape[2], 5}, dtype, seed + 7);
    const auto v = mw::device_put(w, NamedSharding(y.sharding().mesh(), random.spec(y.sharding().mesh(), 2)));
    ASSERT_EQ(bits_of(mw::matmul(x, w)), bits_of(mw::matmul(y, v)))
        << "matmul, seed " << seed << " " << type_string(y) << " " << type_string(v);
    ASSERT_EQ(bits_of(mw::einsum("abc,cd->d", {x, w})), bits_of(mw::einsum("abc,cd->d", {y, v})))
        << "einsum, seed " << seed << " " << type_string(y);
  }
}

TEST(Deterministic, LongProductsInSteps) {
  mw::deterministic scope;
  const auto x = awkward({256, 2048}, mw::float32, 1), w = awkward({2048, 256}, mw::float32, 2);
  const auto expected = bits_of(mw::matmul(x, w));
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  for (const auto& a : {P("x"), P(nullptr, "x"), P()})
    for (const auto& b : {P("x"), P(nullptr, "x"), P()})
      ASSERT_EQ(bits_of(mw::matmul(mw::device_put(x, NamedSharding(mesh, a)), mw::device_put(w, NamedSharding(mesh, b)))), expected)
          << to_string(a) << to_string(b);
}

// Known sums, whatever the number of ranks: these very bits come out of long double.
TEST(Deterministic, SumsAreRoundedOnce) {
  mw::deterministic scope;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const auto x = awkward({10000}, mw::float64, seed);
    const auto y = mw::device_put(x, RandomPlacement(seed).sharding(1));
    const auto values = mw::device_get(x);
    __float128 exact = 0;
    for (const double v : values.view<double>()) exact += v;
    EXPECT_EQ(mw::sum(y).item<double>(), static_cast<double>(exact));
    EXPECT_EQ(mw::mean(y).item<double>(), static_cast<double>(exact) / 10000);
  }
}

TEST(Deterministic, SpecialValuesAndEmptySums) {
  mw::deterministic scope;
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto sum_of = [&](std::vector<double> values) {
    const auto n = static_cast<std::int64_t>(values.size());
    return mw::sum(mw::device_put(mw::asarray(values).reshape({n}), NamedSharding(mesh, P("x")))).item<double>();
  };
  EXPECT_EQ(sum_of({1, inf, 2}), inf);
  EXPECT_EQ(sum_of({-inf, 1, 5, 7}), -inf);
  EXPECT_TRUE(std::isnan(sum_of({inf, 1, -inf, 3})));
  EXPECT_TRUE(std::isnan(sum_of({1, nan, inf})));
  EXPECT_EQ(sum_of({}), 0.0);
  EXPECT_EQ(sum_of({0, -0.0, 0}), 0.0);
  EXPECT_EQ(sum_of({1e308, 1e308, -1e308}), 1e308);
  EXPECT_EQ(sum_of({5e-324, 5e-324, 5e-324}), 15e-324);
  EXPECT_EQ(sum_of({1e-300, 3e-320, -1e-300}), 3e-320);
  EXPECT_EQ(sum_of({1e30, 1, -1e30}), 0.0) << "1 is 2^-99 of the largest";
  EXPECT_TRUE(std::isnan(mw::mean(mw::device_put(mw::zeros({0}), NamedSharding(mesh, P("x")))).item<float>()));
}

TEST(Deterministic, OnlyWhileTheScopeLives) {
  EXPECT_FALSE(mw::is_deterministic());
  {
    mw::deterministic scope;
    EXPECT_TRUE(mw::is_deterministic());
    {
      mw::deterministic off(false);
      EXPECT_FALSE(mw::is_deterministic());
    }
    EXPECT_TRUE(mw::is_deterministic());
  }
  EXPECT_FALSE(mw::is_deterministic());
}

}  // namespace

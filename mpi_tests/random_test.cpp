// ranks: 1 2 3 4 6 8
// devices_per_rank: 8 4@2
// variant: private ranks=4 MESHWISE_STORE=private
// Random numbers against the definition, written down once more here, one element at a time; the same on every layout.
#include <gtest/gtest.h>

#include <cmath>

#include "support/random_placement.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape;
using mw::testing::RandomPlacement;

namespace {

struct Pair {
  std::uint32_t a, b;
};

/// Threefry-2x32-20, straight from its paper.
Pair threefry(Pair key, Pair x) {
  const std::uint32_t ks[] = {key.a, key.b, key.a ^ key.b ^ 0x1BD11BDAu};
  const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  x.a += ks[0];
  x.b += ks[1];
  for (std::uint32_t g = 0; g < 5; ++g) {
    for (const int r : rotations[g % 2]) {
      x.a += x.b;
      x.b = (x.b << r) | (x.b >> (32 - r));
      x.b ^= x.a;
    }
    x.a += ks[(g + 1) % 3];
    x.b += ks[(g + 2) % 3] + g + 1;
  }
  return x;
}

Pair at(Pair key, std::uint64_t i) { return threefry(key, {static_cast<std::uint32_t>(i >> 32), static_cast<std::uint32_t>(i)}); }
Pair key_of(std::uint64_t seed) { return {static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(seed)}; }
std::uint32_t bits32(Pair key, std::uint64_t i) { return at(key, i).a ^ at(key, i).b; }
std::uint64_t bits64(Pair key, std::uint64_t i) { return std::uint64_t{at(key, i).a} << 32 | at(key, i).b; }

template <class T>
std::vector<T> values(const Array& x) {
  const auto whole = mw::device_get(x);
  return {whole.view<T>().begin(), whole.view<T>().end()};
}

/// The bytes of the whole value.
std::string bytes(const Array& x) {
  const auto whole = mw::device_get(x).contiguous();
  return {reinterpret_cast<const char*>(whole.data()), static_cast<std::size_t>(whole.nbytes())};
}

mw::Mesh line() { return mw::make_mesh({mw::devices().size()}, {"x"}); }

TEST(RandomBits, FollowTheDefinition) {
  const Shape shape{13, 7};
  const auto k = mw::random::key(12345678901234), placed_key = mw::random::key(-1);
  const auto b8 = values<std::uint8_t>(mw::random::bits(k, shape, mw::uint8));
  const auto b16 = values<std::uint16_t>(mw::random::bits(k, shape, mw::uint16));
  const auto b32 = values<std::uint32_t>(mw::device_put(mw::random::bits(k, shape), NamedSharding(line(), P("x"))));
  const auto b64 =
      values<std::uint64_t>(mw::device_put(mw::random::bits(placed_key, shape, mw::uint64), NamedSharding(line(), P(nullptr, "x"))));
  for (std::uint64_t i = 0; i < b32.size(); ++i) {
    const auto want = bits32(key_of(12345678901234), i);
    EXPECT_EQ(b8[i], want & 0xff);
    EXPECT_EQ(b16[i], want & 0xffff);
    EXPECT_EQ(b32[i], want);
    EXPECT_EQ(b64[i], bits64(key_of(~std::uint64_t{0}), i));
  }
  // A recipe of 2^40 elements has no memory; its far end is drawn alone, counters beyond 32 bits included.
  const auto far = std::int64_t{1} << 40;
  EXPECT_EQ(values<std::uint32_t>(mw::random::bits(k, {far})[mw::Slice(far - 2, far)])[1],
            bits32(key_of(12345678901234), static_cast<std::uint64_t>(far - 1)));
  EXPECT_THROW(mw::random::bits(k, shape, mw::int32), mw::DtypeError);
}

TEST(RandomKeys, SplitAndFold) {
  const auto k = mw::random::key(42);
  const auto five = values<std::uint32_t>(mw::random::split(k, 5)), two = values<std::uint32_t>(mw::random::split(k)),
             grid = values<std::uint32_t>(mw::random::split(k, Shape{2, 3}));
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto want = at(key_of(42), i);
    EXPECT_EQ(five[2 * i], want.a);
    EXPECT_EQ(five[2 * i + 1], want.b);
    EXPECT_EQ(grid[2 * i], want.a);
    if (i < 2) {
      EXPECT_EQ(two[2 * i + 1], want.b);
    }
    EXPECT_EQ(values<std::uint32_t>(mw::random::fold_in(k, static_cast<std::int64_t>(i))), (std::vector<std::uint32_t>{want.a, want.b}));
  }
  // A row of a split is a key.
  EXPECT_EQ(values<std::uint32_t>(mw::random::bits(mw::random::split(k, 3)[1]))[0], bits32(at(key_of(42), 1), 0));
  EXPECT_THROW(mw::random::uniform(mw::asarray({1, 2})), mw::DtypeError);
  EXPECT_THROW(mw::random::uniform(mw::random::split(k)), mw::ShapeError);
}

TEST(RandomNumbers, UniformIntegersAndChances) {
  const auto k = mw::random::key(7);
  const auto pair = key_of(7);
  const Shape shape{31, 5};
  const auto u = values<float>(mw::random::uniform(k, shape)), v = values<float>(mw::random::uniform(k, shape, mw::float32, -3, 5));
  const auto d = values<double>(mw::random::uniform(k, shape, mw::float64));
  const auto n = values<std::int32_t>(mw::random::randint(k, shape, -10, 1000));
  const auto all = values<std::uint64_t>(mw::random::randint(k, shape, 0, ~std::uint64_t{0}, mw::uint64));
  const auto small = values<std::int8_t>(mw::random::randint(k, shape, -200, 200, mw::int8));
  const auto hits = mw::device_get(mw::random::bernoulli(k, 0.25, shape));
  const auto high = at(pair, 0), low = at(pair, 1);
  for (std::uint64_t i = 0; i < u.size(); ++i) {
    const auto f = static_cast<float>(bits32(pair, i) >> 9) / 8388608.0f;
    EXPECT_EQ(u[i], f);
    EXPECT_EQ(v[i], std::fma(f, 8.0f, -3.0f));
    EXPECT_EQ(d[i], static_cast<double>(bits64(pair, i) >> 12) / 4503599627370496.0);
    EXPECT_EQ(hits.view<bool>()[static_cast<std::int64_t>(i)], f < 0.25f);
    const auto draw = [&](std::uint64_t span) {
      return ((bits32(high, i) % span) * ((std::uint64_t{1} << 32) % span) + bits32(low, i) % span) % (std::uint64_t{1} << 32) % span;
    };
    EXPECT_EQ(n[i], static_cast<std::int64_t>(draw(1010)) - 10);
    EXPECT_EQ(small[i], static_cast<std::int64_t>(draw(256)) - 128);
    // 2^64 mod span, computed as JAX does: (2^32 mod span) squared wraps to 0.
    const std::uint64_t span = ~std::uint64_t{0}, root = (std::uint64_t{1} << 32) % span, power = root * root % span;
    EXPECT_EQ(all[i], (bits64(high, i) % span * power + bits64(low, i) % span) % span);
  }
  EXPECT_EQ(values<std::int32_t>(mw::random::randint(k, {3}, 5, 5)), (std::vector<std::int32_t>{5, 5, 5}));
  EXPECT_THROW(mw::random::uniform(k, shape, mw::int32), mw::DtypeError);
  EXPECT_THROW(mw::random::randint(k, shape, 0, 10, mw::float32), mw::DtypeError);
}

TEST(RandomNumbers, NormalInvertsTheDistribution) {
  const auto k = mw::random::key(3);
  const auto pair = key_of(3);
  const auto z = values<float>(mw::random::normal(k, {2000}));
  const auto w = values<double>(mw::random::normal(k, {2000}, mw::float64));
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < z.size(); ++i) {
    // The distribution function takes each draw back to the uniform number it came from.
    const double u = std::fma(static_cast<double>(bits32(pair, i) >> 9) / 8388608.0, 2.0, -1 + 0x1p-24);
    EXPECT_NEAR(std::erf(static_cast<double>(z[i]) / std::sqrt(2.0)), u, 3e-7);
    const double wide = std::fma(static_cast<double>(bits64(pair, i) >> 12) / 4503599627370496.0, 2.0, -1 + 0x1p-53);
    EXPECT_NEAR(std::erf(w[i] / std::sqrt(2.0)), wide, 1e-15);
    sum += static_cast<double>(z[i]);
    squares += static_cast<double>(z[i]) * static_cast<double>(z[i]);
  }
  EXPECT_NEAR(sum / 2000, 0, 0.1);
  EXPECT_NEAR(squares / 2000, 1, 0.15);
  for (const auto dtype : {mw::float16, mw::bfloat16}) {
    const auto half = values<float>(mw::random::normal(k, {500}, dtype).astype(mw::float32));
    for (const float x : half) EXPECT_LT(std::abs(x), 6.0f);
  }
}

TEST(UserCases, U087_NoLayoutChangesADraw) {
  const auto n = mw::devices().size();
  const auto k = mw::random::key(0);
  const auto two = n % 2 == 0 ? 2 : 1;
  const auto grid = mw::make_mesh({n / two, two}, {"x", "y"});
  for (const auto& shape : {Shape{496, 8}, Shape{497, 3}}) {
    const auto want = bytes(mw::random::uniform(k, shape));
    const auto first = values<float>(mw::random::uniform(k, shape));
    for (std::size_t i = 0; i < first.size(); ++i) ASSERT_EQ(first[i], static_cast<float>(bits32({0, 0}, i) >> 9) / 8388608.0f);
    for (const auto& spec : {P("x"), P(nullptr, "x"), P("x", "y"), P()})
      EXPECT_EQ(bytes(mw::device_put(mw::random::uniform(k, shape), NamedSharding(grid, spec))), want);
  }
}

TEST(UserCases, U087_EveryDrawOnRandomLayouts) {
  RandomPlacement placement(87);
  const auto k = mw::random::key(99);
  const std::vector<std::function<Array(const Shape&)>> draws = {
      [&](const Shape& s) { return mw::random::bits(k, s, mw::uint8); },
      [&](const Shape& s) { return mw::random::bits(k, s, mw::uint64); },
      [&](const Shape& s) { return mw::random::uniform(k, s, mw::bfloat16, 1, 3); },
      [&](const Shape& s) { return mw::random::normal(k, s, mw::float64); },
      [&](const Shape& s) { return mw::random::randint(k, s, 0, 100, mw::uint16); },
      [&](const Shape& s) { return mw::random::bernoulli(k, 0.5, s); },
      [&](const Shape& s) { return mw::random::split(k, s); }};
  for (int round = 0; round < 6; ++round)
    for (const auto& draw : draws) {
      const auto shape = placement.shape(2);
      const auto x = draw(shape);
      const auto s = placement.sharding(2);
      EXPECT_FALSE(x.committed());
      EXPECT_EQ(bytes(mw::device_put(x, s)), bytes(x)) << to_string(shape) << " " << to_string(s);
    }
}

TEST(RandomKeys, ACommittedKeyCommitsItsDraws) {
  const auto k = mw::random::key(5);
  const auto m = line();
  for (const auto& spec : {P(), P("x")}) {
    const auto placed = mw::device_put(k, NamedSharding(m, spec));
    const std::vector<std::pair<Array, Array>> pairs = {
        {mw::random::uniform(placed, {6, 2}), mw::random::uniform(k, {6, 2})},
        {mw::random::split(placed, 3), mw::random::split(k, 3)},
        {mw::random::fold_in(placed, 9), mw::random::fold_in(k, 9)},
        {mw::random::permutation(placed, 20), mw::random::permutation(k, 20)},
        {mw::random::randint(placed, {5}, 0, 9, mw::int16), mw::random::randint(k, {5}, 0, 9, mw::int16)}};
    for (const auto& [got, want] : pairs) {
      EXPECT_TRUE(got.committed());
      EXPECT_TRUE(got.is_fully_replicated());
      EXPECT_EQ(got.sharding().devices(), m.devices());
      EXPECT_EQ(bytes(got), bytes(want));
    }
  }
  const auto explicit_mesh = mw::make_mesh({mw::devices().size()}, {"x"}, {.axis_types = mw::AxisType::Explicit});
  EXPECT_EQ(mw::random::normal(mw::device_put(k, NamedSharding(explicit_mesh, P())), {4, 4}).sharding().spec(), P(nullptr, nullptr));
  const auto last = mw::devices()[mw::devices().size() - 1];
  EXPECT_EQ(mw::random::bits(mw::device_put(k, last)).sharding().devices(), mw::DeviceList(last));
  auto gone = mw::device_put(k, last);
  gone.free();
  EXPECT_THROW(mw::random::bits(gone), mw::DonatedError);
}

/// The definition of permutation: rounds of stable sorts by fresh bits.
std::vector<std::int32_t> naive_permutation(Pair key, std::int64_t n) {
  std::vector<std::int32_t> x(static_cast<std::size_t>(n));
  std::iota(x.begin(), x.end(), 0);
  const auto rounds = static_cast<int>(std::ceil(3 * std::log(std::max<double>(1, static_cast<double>(n))) / std::log(4294967295.0)));
  for (int r = 0; r < rounds; ++r) {
    const auto next = at(key, 0), sub = at(key, 1);
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return bits32(sub, i) < bits32(sub, j); });
    std::vector<std::int32_t> sorted;
    for (const auto i : order) sorted.push_back(x[i]);
    x = sorted;
    key = next;
  }
  return x;
}

TEST(RandomPermutation, OfNumbersAndOfRows) {
  const auto k = mw::random::key(11);
  for (const std::int64_t n : {0, 1, 2, 10, 1000, 2000})
    EXPECT_EQ(values<std::int32_t>(mw::random::permutation(k, n)), naive_permutation(key_of(11), n));
  const auto order = naive_permutation(key_of(11), 12);
  const auto x = mw::arange(60).reshape({12, 5});
  for (const auto& placed :
       {x, mw::device_put(x, NamedSharding(line(), P("x"))), mw::device_put(x, NamedSharding(line(), P(nullptr, "x")))}) {
    const auto y = mw::random::permutation(k, placed);
    EXPECT_EQ(y.committed(), placed.committed());
    const auto v = values<std::int32_t>(y);
    for (std::size_t i = 0; i < 12; ++i)
      for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(v[5 * i + j], order[i] * 5 + static_cast<std::int32_t>(j));
  }
  EXPECT_THROW(mw::random::permutation(k, x, 2), mw::IndexError);
  EXPECT_THROW(mw::random::permutation(k, -1), mw::ShapeError);
}

TEST(RandomPermutation, EachLineInItsOwnOrder) {
  const auto k = mw::random::key(13);
  const auto x = mw::arange(12 * 6).reshape({12, 6});
  // By the definition, along axis 0: two rounds would need more than 1625 elements, here there is one.
  const auto sub = at(key_of(13), 1);
  std::vector<std::int32_t> want(72);
  for (std::size_t j = 0; j < 6; ++j) {
    std::vector<std::size_t> order(12);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return bits32(sub, 6 * a + j) < bits32(sub, 6 * b + j); });
    for (std::size_t i = 0; i < 12; ++i) want[6 * i + j] = static_cast<std::int32_t>(6 * order[i] + j);
  }
  EXPECT_EQ(values<std::int32_t>(mw::random::permutation(k, x, 0, true)), want);
  for (const auto& spec : {P("x"), P(nullptr, "x"), P()}) {
    const auto y = mw::random::permutation(k, mw::device_put(x, NamedSharding(line(), spec)), 0, true);
    EXPECT_EQ(y.sharding().spec(), spec);
    EXPECT_EQ(values<std::int32_t>(y), want);
  }
  const auto last = mw::devices()[mw::devices().size() - 1];
  EXPECT_EQ(mw::random::permutation(mw::device_put(k, last), x, 0, true).sharding().devices(), mw::DeviceList(last));
  if (mw::devices().size() > 1) {
    EXPECT_THROW(mw::random::permutation(mw::device_put(k, last), mw::device_put(x, mw::devices()[0]), 0, true), mw::CommitmentError);
  }
}

}  // namespace

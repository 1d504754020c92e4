// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// variant: nodes2 ranks=4 MESHWISE_NODE_SIZE=2
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// Sorting, searching and distinct values of arrays of any layout against the standard library's, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "support/exact.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::Array, mw::Dtype, mw::LocalArray, mw::NamedSharding, mw::P, mw::Shape;
using mw::testing::RandomPlacement;

namespace {

template <class T>
constexpr bool is_real = !std::same_as<T, std::complex<float>> && !std::same_as<T, std::complex<double>>;

// Few different values, so that many are equal; of floats, both zeros, both infinities and NaN among them.
template <class T>
T drawn(RandomPlacement& random) {
  const auto pick = random.below(12);
  if constexpr (std::same_as<T, bool>) {
    return pick < 6;
  } else if constexpr (std::integral<T>) {
    return pick == 0 ? std::numeric_limits<T>::max() : pick == 1 ? std::numeric_limits<T>::min() : static_cast<T>(pick - (std::signed_integral<T> ? 6 : 0));
  } else if constexpr (is_real<T>) {
    const float special[] = {std::numeric_limits<float>::quiet_NaN(), -0.0f, 0.0f, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
    return T(pick < 5 ? special[pick] : static_cast<float>(pick) - 8.5f);
  } else {
    return T(static_cast<typename T::value_type>(pick % 3), static_cast<typename T::value_type>(pick % 4));
  }
}

template <class T>
bool before(T a, T b) {
  if constexpr (!is_real<T>) {
    return a.real() != b.real() ? a.real() < b.real() : a.imag() < b.imag();
  } else if constexpr (std::integral<T>) {
    return a < b;
  } else {
    const auto x = static_cast<double>(static_cast<float>(a)), y = static_cast<double>(static_cast<float>(b));
    return std::isnan(y) ? !std::isnan(x) : x < y;
  }
}

// The places along an axis of length n in order, for each line of [outer, n, inner].
template <class T>
std::vector<std::int64_t> places(const std::vector<T>& x, std::int64_t n, std::int64_t inner, std::int64_t line, bool descending) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](std::int64_t i) { return x[static_cast<std::size_t>((line / inner * n + i) * inner + line % inner)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return descending ? before(at(b), at(a)) : before(at(a), at(b)); });
  return order;
}

LocalArray drawn_values(RandomPlacement& random, const Shape& shape, Dtype dtype) {
  LocalArray out(shape, dtype);
  mw::visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < out.size(); ++i) reinterpret_cast<T*>(out.data())[i] = drawn<T>(random);
  });
  return out;
}

void expect_sorted(const LocalArray& host, const Array& x, std::int64_t axis, bool descending, const std::string& what) {
  const auto sorted = mw::sort(x, axis, descending), order = mw::argsort(x, axis, descending);
  EXPECT_TRUE(sorted.sharding() == x.sharding()) << what;
  EXPECT_EQ(sorted.committed(), x.committed()) << what;
  const auto values = mw::device_get(sorted).contiguous();
  const auto indices = mw::device_get(order).contiguous();
  const auto n = host.shape()[axis];
  std::int64_t inner = 1;
  for (auto d = axis + 1; d < host.ndim(); ++d) inner *= host.shape()[d];
  mw::visit(host.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::vector<T> from(host.view<T>().begin(), host.view<T>().end());
    for (std::int64_t line = 0; n > 0 && line < host.size() / n; ++line) {
      const auto want = places(from, n, inner, line, descending);
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = (line / inner * n + i) * inner + line % inner, source = (line / inner * n + want[static_cast<std::size_t>(i)]) * inner + line % inner;
        ASSERT_EQ(indices.view<std::int32_t>()[at], want[static_cast<std::size_t>(i)]) << what << ", line " << line << ", element " << i;
        ASSERT_EQ(std::memcmp(values.data() + static_cast<std::size_t>(at) * sizeof(T), host.data() + static_cast<std::size_t>(source) * sizeof(T), sizeof(T)), 0)
            << what << ", line " << line << ", element " << i;
      }
    }
  });
}

TEST(Sort, EveryDtypeAxisAndLayout) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto shape = random.shape(1 + random.below(3));
    const auto dtype = random.dtype();
    const auto host = drawn_values(random, shape, dtype);
    const auto spec = random.spec(mesh, shape.ndim());
    const auto x = mw::device_put(mw::asarray(host), NamedSharding(mesh, spec));
    const auto axis = random.below(shape.ndim());
    const bool descending = random.below(2) == 0;
    expect_sorted(host, x, axis, descending, fmt::format("seed {}: {} on {}, axis {}", seed, mw::type_string(x), mw::to_string(mesh), axis));
  }
}

// Long enough for digits instead of comparisons, and for parts that all of the others send to.
TEST(Sort, LongVectors) {
  const auto n = mw::devices().size();
  const NamedSharding line(mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()}), P("x"));
  for (const auto dtype : {mw::bool_, mw::int8, mw::uint16, mw::float16, mw::int32, mw::float32, mw::uint64, mw::float64, mw::complex64, mw::complex128}) {
    RandomPlacement random(7);
    const auto host = drawn_values(random, {10007}, dtype);
    expect_sorted(host, mw::device_put(mw::asarray(host), line), 0, false, std::string(mw::name(dtype)));
    expect_sorted(host, mw::device_put(mw::asarray(host), line), 0, true, std::string(mw::name(dtype)) + " descending");
  }
  // Random bits of all widths, and orders that are the worst for some.
  for (const auto dtype : {mw::uint32, mw::uint64}) {
    const auto bits = mw::random::bits(mw::random::key(3), {50021}, dtype);
    const auto host = mw::device_get(bits).contiguous();
    expect_sorted(host, mw::device_put(bits, line), 0, false, "random bits");
  }
  const auto up = mw::arange(20011), down = mw::flip(up);
  for (const auto& x : {up, down, mw::zeros({20011}, mw::int32)}) {
    const auto host = mw::device_get(x).contiguous();
    expect_sorted(host, mw::device_put(x, line), 0, false, "in order already, or the other way round, or equal");
  }
}

// Parts and blocks that are sorted in rounds, and a few lines that all devices sort.
TEST(Sort, InRounds) {
  const auto n = mw::devices().size();
  const auto mesh = mw::make_mesh({n}, {"x"});
  RandomPlacement random(11);
  const auto check = [&](const Shape& shape, Dtype dtype, const mw::PartitionSpec& spec, std::int64_t axis) {
    const auto host = drawn_values(random, shape, dtype);
    expect_sorted(host, mw::device_put(mw::asarray(host), NamedSharding(mesh, spec)), axis, random.below(2) == 0, fmt::format("{} {}", mw::name(dtype), mw::to_string(spec)));
  };
  check({n * (1 << 18) + 3}, mw::float32, P("x"), 0);
  check({n * (1 << 16) + n - 1}, mw::complex128, P("x"), 0);
  check({37, n * (1 << 13) + 1}, mw::float32, P(nullptr, "x"), 1);
  check({n * (1 << 13) + 1, 41}, mw::float32, P("x"), 0);
  check({2, n * 1000 + 1, 1}, mw::int32, P(nullptr, "x"), 1);
  // One part has all of what belongs in a round.
  const auto steps = mw::remainder(mw::arange(n * (1 << 18)), n);
  const auto host = mw::device_get(steps).contiguous();
  expect_sorted(host, mw::device_put(steps, NamedSharding(mesh, P("x"))), 0, false, "many equal elements");
}

TEST(Sort, Searchsorted) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    auto dtype = random.dtype();
    if (mw::is_complex(dtype)) dtype = mw::float32;
    const auto edges = mw::sort(mw::asarray(drawn_values(random, {random.below(20)}, dtype)));
    const auto shape = random.shape(random.below(3));
    const auto host = drawn_values(random, shape, dtype);
    const auto x = mw::device_put(mw::asarray(host), NamedSharding(mesh, random.spec(mesh, shape.ndim())));
    const auto left = mw::searchsorted(edges, x), right = mw::searchsorted(mw::device_put(edges, NamedSharding(mesh, P())), x, mw::Side::right);
    EXPECT_TRUE(left.sharding() == x.sharding());
    const auto lefts = mw::device_get(left), rights = mw::device_get(right);
    mw::visit(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (is_real<T>) {
        const auto whole = edges.local_value();
        for (std::int64_t i = 0; i < host.size(); ++i) {
          std::int64_t less = 0, less_equal = 0;
          for (const T edge : whole.view<T>()) {
            less += before(edge, host.view<T>()[i]);
            less_equal += !before(host.view<T>()[i], edge);
          }
          ASSERT_EQ(lefts.view<std::int32_t>()[i], less) << seed;
          ASSERT_EQ(rights.view<std::int32_t>()[i], less_equal) << seed;
        }
      }
    });
  }
}

TEST(Sort, Unique) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto shape = random.shape(random.below(3));
    LocalArray host(shape, mw::int32);
    std::map<std::int32_t, std::pair<std::int64_t, std::int64_t>> want;  // value: first place, count
    for (std::int64_t i = 0; i < host.size(); ++i) {
      const auto value = static_cast<std::int32_t>(random.below(9) - 4);
      host.mutable_view<std::int32_t>()[i] = value;
      ++want.try_emplace(value, i, 0).first->second.second;
    }
    const auto x = mw::device_put(mw::asarray(host), NamedSharding(mesh, random.spec(mesh, shape.ndim())));
    const auto got = mw::unique_all(x);
    ASSERT_EQ(got.values.shape(), (Shape{std::ssize(want)})) << seed;
    const auto values = mw::device_get(got.values), indices = mw::device_get(got.indices), counts = mw::device_get(got.counts), inverse = mw::device_get(got.inverse);
    std::int64_t k = 0;
    for (const auto& [value, where] : want) {
      EXPECT_EQ(values.view<std::int32_t>()[k], value);
      EXPECT_EQ(indices.view<std::int32_t>()[k], where.first);
      EXPECT_EQ(counts.view<std::int32_t>()[k], where.second);
      ++k;
    }
    ASSERT_EQ(inverse.shape(), shape);
    for (std::int64_t i = 0; i < host.size(); ++i) EXPECT_EQ(values.view<std::int32_t>()[inverse.view<std::int32_t>()[i]], host.view<std::int32_t>()[i]);
  }
}

TEST(Sort, Refused) {
  using support::words;
  EXPECT_NE(words<mw::ShapeError>([] { mw::sort(mw::asarray(1.0f)); }).find("a scalar"), std::string::npos);
  EXPECT_NE(words<mw::IndexError>([] { mw::argsort(mw::zeros({3}), 1); }).find("axis 1"), std::string::npos);
  EXPECT_NE(words<mw::ShapeError>([] { mw::searchsorted(mw::zeros({2, 2}), mw::zeros({3})); }).find("one axis"), std::string::npos);
  const auto n = mw::devices().size();
  if (n == 1) return;
  const NamedSharding typed(mw::make_mesh({n}, {"x"}, {.axis_types = mw::AxisType::Explicit}), P("x"));
  const auto x = mw::device_put(mw::zeros({4 * n}), typed);
  EXPECT_NE(words<mw::ShardingTypeError>([&] { mw::sort(x); }).find("unsharded over the axis"), std::string::npos);
  EXPECT_NE(words<mw::ShardingTypeError>([&] { mw::cumulative_sum(x); }).find("unsharded over the axis"), std::string::npos);
}

}  // namespace

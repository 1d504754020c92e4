// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// Elements shifted, parts with their neighbours' rims, and sliding windows: of any layout, against plain loops over the whole.
#include <gtest/gtest.h>

#include <limits>

#include "support/exact.hpp"
#include "support/thrown_words.hpp"
#include "support/pad_element.hpp"

namespace mw = meshwise;
using mw::Array, mw::Dtype, mw::Index, mw::LocalArray, mw::NamedSharding, mw::P, mw::PadMode, mw::Shape;
using mw::testing::RandomPlacement, mw::testing::Whole;

namespace {

using Widths = std::vector<std::pair<std::int64_t, std::int64_t>>;

std::size_t number(const std::vector<std::int64_t>& at, const Shape& shape) {
  std::int64_t out = 0;
  for (std::int64_t d = 0; d < shape.ndim(); ++d) out = out * shape[d] + at[static_cast<std::size_t>(d)];
  return static_cast<std::size_t>(out);
}

TEST(Stencil, ShiftsOfEveryDtypeAndLayout) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto shape = random.shape(1 + random.below(3));
    const auto dtype = random.dtype();
    const auto host = mw::testing::small_values(random, shape, dtype);
    const auto x = mw::testing::placed(random, host, mesh);
    const auto axis = random.below(shape.ndim()), n = shape[axis];
    const auto by = random.below(3) == 0 ? random.below(4 * n + 3) - 2 * n - 1 : random.below(5) - 2;
    const auto got =
        mw::shift(x, by, axis - (random.below(2) == 0 ? shape.ndim() : 0), dtype == mw::bool_ ? mw::Scalar(true) : mw::Scalar(3));
    const auto from = mw::testing::wholes(host);
    std::vector<Whole> want;
    for (std::int64_t k = 0; k < host.size(); ++k) {
      auto at = mw::testing::coordinates(k, shape);
      at[static_cast<std::size_t>(axis)] -= by;
      const auto i = at[static_cast<std::size_t>(axis)];
      want.push_back(i < 0 || i >= n ? mw::testing::in_dtype({3, 0}, dtype) : from[number(at, shape)]);
    }
    ASSERT_EQ(mw::testing::wrong(got, shape, dtype, want), "") << seed << ": " << mw::type_string(x) << " by " << by << " along " << axis;
    ASSERT_TRUE(!x.committed() || got.sharding() == x.sharding()) << seed;
  }
}

// Each element becomes the sum of all that lie in its neighbourhood, each times a number of its own: a wrong place shows.
LocalArray weighted(const LocalArray& block, const Widths& widths) {
  Shape shape = block.shape(), box;
  for (std::int64_t d = 0; d < shape.ndim(); ++d) {
    const auto [before, after] = widths[static_cast<std::size_t>(d)];
    shape[d] -= before + after;
    box.push_back(before + after + 1);
  }
  LocalArray out(shape, mw::int64);
  const auto from = block.view<std::int64_t>();
  for (std::int64_t k = 0; k < out.size(); ++k) {
    const auto at = mw::testing::coordinates(k, shape);
    std::int64_t total = 0;
    for (std::int64_t j = 0; j < box.num_elements(); ++j) {
      auto place = mw::testing::coordinates(j, box);
      for (std::size_t d = 0; d < place.size(); ++d) place[d] += at[d];
      total += (j + 1) * from[static_cast<std::int64_t>(number(place, block.shape()))];
    }
    out.mutable_view<std::int64_t>()[k] = total;
  }
  return out;
}

TEST(Stencil, RimsOfEveryWidthModeAndLayout) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto shape = random.shape(random.below(4));
    const auto host = mw::testing::small_values(random, shape, mw::int64, 9);
    const auto x = mw::testing::placed(random, host, mesh);
    Widths widths;
    auto wide = shape;
    for (std::int64_t d = 0; d < shape.ndim(); ++d) {
      widths.emplace_back(random.below(3) == 0 ? random.below(9) : random.below(3), random.below(3));
      wide[d] += widths.back().first + widths.back().second;
    }
    mw::StencilOptions options;
    if (random.below(3) != 0) options.boundary = static_cast<PadMode>(random.below(4));
    options.fill = 5;
    const auto got = mw::stencil(
        x, widths,
        [&](const LocalArray& block) {
          EXPECT_TRUE(block.is_contiguous());
          return weighted(block, widths);
        },
        options);
    // The whole with its rim, and the same function on it.
    std::vector<Whole> want;
    if (host.size() > 0) {
      LocalArray padded(wide, mw::int64);
      for (std::int64_t k = 0; k < padded.size(); ++k) {
        auto at = mw::testing::coordinates(k, wide);
        bool inside = true;
        for (std::size_t d = 0; d < at.size(); ++d) {
          at[d] = meshwise::testing::pad_element(at[d] - widths[d].first, shape[static_cast<std::int64_t>(d)], options.boundary);
          inside = inside && at[d] >= 0;
        }
        padded.mutable_view<std::int64_t>()[k] = inside ? host.view<std::int64_t>()[static_cast<std::int64_t>(number(at, shape))] : 5;
      }
      want = mw::testing::wholes(weighted(padded, widths));
    }
    ASSERT_EQ(mw::testing::wrong(got, shape, mw::int64, want), "") << seed << ": " << mw::type_string(x) << " on " << mw::to_string(mesh);
    ASSERT_TRUE(!x.committed() || got.sharding() == x.sharding()) << seed;
  }
}

TEST(Stencil, SeveralArraysMeet) {
  const auto n = mw::devices().size();
  const auto mesh = mw::make_mesh({n}, {"x"});
  const auto u = mw::device_put(mw::arange(5 * n + 1).reshape({5 * n + 1, 1}).astype(mw::float32), NamedSharding(mesh, P("x")));
  const auto v = mw::device_put(mw::full({5 * n + 1, 1}, 2.0f), NamedSharding(mesh, P()));
  const auto got = mw::stencil({u, v}, {{1, 0}, {0, 0}},
                               [](std::span<const LocalArray> blocks) {
                                 const auto a = blocks[0].view<float>(), b = blocks[1].view<float>();
                                 LocalArray out({blocks[0].shape()[0] - 1, 1}, mw::float64);
                                 for (std::int64_t i = 0; i < out.size(); ++i) out.mutable_view<double>()[i] = (a[i + 1] - a[i]) * b[i + 1];
                                 return out;
                               },
                               {.boundary = PadMode::wrap, .dtype = mw::float64});
  EXPECT_TRUE(got.sharding().is_equivalent_to(u.sharding(), 2));
  const auto values = mw::device_get(got);
  EXPECT_EQ(values.view<double>()[0], -2.0 * static_cast<double>(5 * n));
  for (std::int64_t i = 1; i <= 5 * n; ++i) EXPECT_EQ(values.view<double>()[i], 2.0);
}

TEST(Stencil, Refusals) {
  const auto x = mw::ones({4, 4});
  const auto id = [](const LocalArray& block) { return block; };
  EXPECT_THROW(mw::stencil(x, {{1, 1}}, id), mw::ShapeError);
  EXPECT_THROW(mw::stencil(x, {{1, -1}, {0, 0}}, id), mw::ShapeError);
  EXPECT_THROW(mw::shift(x, 1, 2), mw::IndexError);
  EXPECT_THROW(mw::shift(mw::ones({3}, mw::int8), 1, 0, 1000), mw::DtypeError);
  EXPECT_THROW(mw::window_sum(x, {2}), mw::ShapeError);
  EXPECT_THROW(mw::window_sum(x, {2, 0}), mw::ShapeError);
  EXPECT_THROW(mw::window_max(x.astype(mw::complex64), {2, 2}), mw::DtypeError);
  if (mw::devices().size() < 2) return;
  const auto a = mw::device_put(x, mw::devices()[0]), b = mw::device_put(x, mw::devices()[1]);
  const auto words = support::words<mw::CommitmentError>([&] {
    mw::stencil({a, b}, {{1, 1}, {0, 0}}, [](std::span<const LocalArray> blocks) { return blocks[0]; });
  });
  EXPECT_NE(words.find("stencil"), std::string::npos) << words;
}

Dtype sum_dtype(Dtype dtype) {
  if (dtype == mw::bool_) return mw::int32;
  if (!mw::is_integer(dtype) || mw::itemsize(dtype) >= 4) return dtype;
  return mw::kind(dtype) == mw::DtypeKind::unsigned_integer ? mw::uint32 : mw::int32;
}

TEST(Windows, EveryDtypeSizeStrideAndLayout) {
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto shape = random.shape(random.below(4));
    const auto dtype = random.dtype();
    const auto host = mw::testing::small_values(random, shape, dtype);
    const auto x = mw::testing::placed(random, host, mesh);
    const auto which = mw::is_complex(dtype) ? 0 : random.below(3);
    const bool same = random.below(2) == 0;
    std::vector<std::int64_t> sizes, strides, before;
    Shape result, box;
    for (const auto n : shape) {
      sizes.push_back(random.below(3) == 0 ? 1 + random.below(9) : 1 + random.below(3));
      strides.push_back(1 + random.below(3));
      const auto count = same ? (n + strides.back() - 1) / strides.back() : n < sizes.back() ? 0 : (n - sizes.back()) / strides.back() + 1;
      before.push_back(same ? std::max<std::int64_t>((count - 1) * strides.back() + sizes.back() - n, 0) / 2 : 0);
      result.push_back(count);
      box.push_back(sizes.back());
    }
    const auto padding = same ? mw::Padding::same : mw::Padding::valid;
    const auto got = which == 0   ? mw::window_sum(x, sizes, strides, padding)
                     : which == 1 ? mw::window_max(x, sizes, strides, padding)
                                  : mw::window_min(x, sizes, strides, padding);
    const auto from = mw::testing::wholes(host);
    const auto out = which == 0 ? sum_dtype(dtype) : dtype;
    std::vector<Whole> want;
    for (std::int64_t k = 0; k < result.num_elements(); ++k) {
      const auto at = mw::testing::coordinates(k, result);
      Whole total{which == 0 ? 0 : which == 1 ? -100 : 100, 0};
      for (std::int64_t j = 0; j < box.num_elements(); ++j) {
        auto place = mw::testing::coordinates(j, box);
        bool there = true;
        for (std::size_t d = 0; d < place.size(); ++d) {
          place[d] += at[d] * strides[d] - before[d];
          there = there && place[d] >= 0 && place[d] < shape[static_cast<std::int64_t>(d)];
        }
        if (!there) continue;
        const auto v = from[number(place, shape)];
        total = which == 0 ? total + v : which == 1 ? Whole{std::max(total.re, v.re), 0} : Whole{std::min(total.re, v.re), 0};
      }
      want.push_back(mw::testing::in_dtype(total, out));
    }
    ASSERT_EQ(mw::testing::wrong(got, result, out, want), "")
        << seed << ": " << mw::type_string(x) << " on " << mw::to_string(mesh) << (same ? ", same" : ", valid") << ", reduction " << which;
    ASSERT_TRUE(!x.committed() || got.sharding() == x.sharding()) << seed;
  }
}

// What is beyond the ends does not count, sums of floats have the same bits wherever they are taken.
TEST(Windows, MeansAndTheBitsOfFloats) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const Shape shape{1 + random.below(40), 1 + random.below(9)};
    const auto host = mw::random::normal(mw::random::key(static_cast<std::int64_t>(seed)), shape, mw::float32);
    const auto x = mw::device_put(host, NamedSharding(mesh, random.spec(mesh, 2)));
    const std::vector<std::int64_t> sizes{1 + random.below(7), 1 + random.below(4)}, strides{1 + random.below(3), 1};
    const auto padding = random.below(2) == 0 ? mw::Padding::same : mw::Padding::valid;
    for (const auto f : {mw::window_sum, mw::window_mean}) {
      const auto here = mw::device_get(f(x, sizes, strides, padding)).contiguous(),
                 whole = mw::device_get(f(host, sizes, strides, padding)).contiguous();
      ASSERT_EQ(here.shape(), whole.shape());
      ASSERT_TRUE(here.size() == 0 || std::memcmp(here.data(), whole.data(), static_cast<std::size_t>(here.nbytes())) == 0) << seed;
    }
    const auto ones = mw::device_get(mw::window_mean(mw::ones(shape, mw::int8), sizes, strides, padding));
    EXPECT_EQ(ones.dtype(), mw::float32);
    for (const auto v : ones.view<float>()) ASSERT_EQ(v, 1.0f) << seed;
  }
}

// Blocks of many tiles: of ascending numbers the largest in a window is its last one.
TEST(Windows, LongAxes) {
  const auto n = mw::devices().size();
  const auto line = mw::make_mesh({n}, {"x"});
  const auto vector = mw::device_put(mw::arange(300'007), NamedSharding(line, P("x")));
  const auto last = mw::arange(4, 300'007, 3);
  EXPECT_TRUE(mw::all(mw::equal(mw::asarray(mw::device_get(mw::window_max(vector, {5}, {3}))), last)).item<bool>());
  const auto square = mw::device_put(mw::reshape(mw::arange(523 * 411), {523, 411}), NamedSharding(line, P(nullptr, "x")));
  const auto corners = mw::reshape(mw::arange(523 * 411), {523, 411})[{mw::Slice(2, mw::none, 2), mw::Slice(6, mw::none)}];
  EXPECT_TRUE(mw::all(mw::equal(mw::asarray(mw::device_get(mw::window_max(square, {3, 7}, {2, 1}))), corners)).item<bool>());
}

TEST(Windows, NanWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto x = mw::asarray(std::vector<float>{1, 2, nan, -4, 5, 6});
  const auto got = mw::device_get(mw::window_max(x, {2}));
  EXPECT_EQ(got.view<float>()[0], 2);
  EXPECT_TRUE(std::isnan(got.view<float>()[1]));
  EXPECT_TRUE(std::isnan(got.view<float>()[2]));
  EXPECT_EQ(got.view<float>()[3], 5);
}

}  // namespace

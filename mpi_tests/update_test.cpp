// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// Parts of arrays replaced and combined, gathered by arrays of indices and by masks: of any layout, against plain loops.
#include <gtest/gtest.h>

#include "support/exact.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::Array, mw::IndexMode, mw::LocalArray, mw::NamedSharding, mw::P, mw::Shape, mw::Slice;
using mw::testing::RandomPlacement;

namespace {

using Values = std::vector<std::int64_t>;

Array int64s(const Values& values, const Shape& shape) { return mw::asarray(values, shape); }

Values values_of(const Array& x) {
  const auto whole = mw::device_get(x).contiguous();
  return {whole.view<std::int64_t>().begin(), whole.view<std::int64_t>().end()};
}

Array somewhere(RandomPlacement& random, const mw::Mesh& mesh, const Array& x) {
  return random.below(3) == 0 ? x : mw::device_put(x, NamedSharding(mesh, random.spec(mesh, x.ndim())));
}

// A three-axis array with one axis ranged, one indexed, one of either sort.
struct Case {
  Shape shape;
  std::vector<mw::IndexExpression> items;
  // The coordinates that the result's elements name, in row-major order; none for one that is out of range.
  std::vector<std::optional<std::array<std::int64_t, 3>>> elements;
  Shape part;
};

Case drawn(RandomPlacement& random, const mw::Mesh& mesh, bool in_range) {
  Case c;
  for (int d = 0; d < 3; ++d) c.shape.push_back(2 + random.below(7));
  const auto count = 1 + random.below(5);
  const auto indices = [&](std::int64_t n) {
    Values out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(in_range ? random.below(n) : random.below(4 * n) - 2 * n);
    return out;
  };
  const auto at = [](std::int64_t i, std::int64_t n) { return i < 0 ? i + n : i; };
  const auto range = [&](std::int64_t n) {
    const auto start = random.below(n), stop = start + random.below(n - start + 1);
    return std::pair(start, stop);
  };
  const auto fits = [](std::int64_t i, std::int64_t n) { return i >= 0 && i < n; };
  const auto [a, b, d] = std::tuple(c.shape[0], c.shape[1], c.shape[2]);
  if (random.below(2) == 0) {  // [range, indices, indices]: the indices' axis stands behind the range's
    const auto [start, stop] = range(a);
    const auto i = indices(b), j = indices(d);
    c.items = {Slice(start, stop), somewhere(random, mesh, int64s(i, {count})), somewhere(random, mesh, int64s(j, {count}))};
    c.part = {stop - start, count};
    for (auto r = start; r < stop; ++r)
      for (std::size_t k = 0; k < i.size(); ++k) {
        const auto p = at(i[k], b), q = at(j[k], d);
        c.elements.push_back(fits(p, b) && fits(q, d) ? std::optional(std::array{r, p, q}) : std::nullopt);
      }
  } else {  // [indices, range, indices]: in front
    const auto [start, stop] = range(b);
    const auto i = indices(a), j = indices(d);
    c.items = {somewhere(random, mesh, int64s(i, {count})), Slice(start, stop), somewhere(random, mesh, int64s(j, {count}))};
    c.part = {count, stop - start};
    for (std::size_t k = 0; k < i.size(); ++k)
      for (auto r = start; r < stop; ++r) {
        const auto p = at(i[k], a), q = at(j[k], d);
        c.elements.push_back(fits(p, a) && fits(q, d) ? std::optional(std::array{p, r, q}) : std::nullopt);
      }
  }
  return c;
}

std::size_t number(const std::array<std::int64_t, 3>& at, const Shape& shape) { return static_cast<std::size_t>((at[0] * shape[1] + at[1]) * shape[2] + at[2]); }

TEST(Update, GathersByArraysOfIndices) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto c = drawn(random, mesh, true);
    const auto x = somewhere(random, mesh, mw::arange(c.shape.num_elements(), mw::int64).reshape(c.shape));
    const auto got = mw::getitem(x, c.items);
    ASSERT_EQ(got.shape(), c.part) << seed;
    const auto values = values_of(got);
    for (std::size_t k = 0; k < values.size(); ++k) ASSERT_EQ(values[k], static_cast<std::int64_t>(number(*c.elements[k], c.shape))) << seed;
  }
}

TEST(Update, EveryOperationAndLayout) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto c = drawn(random, mesh, random.below(2) == 0);
    const auto x = mw::device_put(mw::arange(c.shape.num_elements(), mw::int64).reshape(c.shape), NamedSharding(mesh, random.spec(mesh, 3)));
    Values want(static_cast<std::size_t>(x.size()));
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = static_cast<std::int64_t>(i);
    const auto u_shape = random.below(3) == 0 ? Shape{} : c.part;  // one element for all, now and then
    const auto u = somewhere(random, mesh, mw::add(mw::multiply(mw::arange(u_shape.num_elements(), mw::int64).reshape(u_shape), 3), 5));
    const auto part = mw::at(x, c.items);
    const auto op = random.below(6);
    const auto got = op == 0 ? part.set(u) : op == 1 ? part.add(u) : op == 2 ? part.subtract(u) : op == 3 ? part.multiply(u) : op == 4 ? part.max(u) : part.min(u);
    for (std::size_t k = 0; k < c.elements.size(); ++k) {
      if (!c.elements[k]) continue;
      auto& to = want[number(*c.elements[k], c.shape)];
      const auto from = u_shape.empty() ? 5 : 3 * static_cast<std::int64_t>(k) + 5;
      to = op == 0 ? from : op == 1 ? to + from : op == 2 ? to - from : op == 3 ? to * from : op == 4 ? std::max(to, from) : std::min(to, from);
    }
    EXPECT_TRUE(got.sharding() == x.sharding()) << seed;
    ASSERT_EQ(values_of(got), want) << "seed " << seed << " on " << mw::to_string(mesh) << ", operation " << op;
    EXPECT_EQ(values_of(x)[0], 0);
  }
}

TEST(Update, SlicesAndIntegers) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto x = mw::device_put(mw::zeros({6, 10}, mw::int64), NamedSharding(mesh, random.spec(mesh, 2)));
    const auto row = mw::at(x, {-2}).set(mw::arange(10, mw::int64));
    const auto both = mw::at(row, {Slice(mw::none, mw::none, -2), Slice(1, 9, 3)}).add(100);
    Values want(60, 0);
    for (std::int64_t j = 0; j < 10; ++j) want[static_cast<std::size_t>(40 + j)] = j;
    for (const std::int64_t i : {5, 3, 1})
      for (const std::int64_t j : {1, 4, 7}) want[static_cast<std::size_t>(i * 10 + j)] += 100;
    ASSERT_EQ(values_of(both), want) << seed;
  }
}

TEST(Update, MasksAndNonzero) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const Shape shape{1 + random.below(9), 1 + random.below(9)};
    const auto x = somewhere(random, mesh, mw::arange(shape.num_elements(), mw::int64).reshape(shape));
    const auto third = mw::equal(mw::remainder(x, 3), 1);
    Values want;
    for (std::int64_t i = 1; i < shape.num_elements(); i += 3) want.push_back(i);
    EXPECT_EQ(values_of(x[third]), want) << seed;
    const auto places = mw::nonzero(third);
    ASSERT_EQ(places.size(), 2u);
    const auto rows = mw::device_get(places[0]), columns = mw::device_get(places[1]);
    ASSERT_EQ(rows.size(), std::ssize(want));
    for (std::int64_t k = 0; k < rows.size(); ++k)
      EXPECT_EQ(rows.view<std::int32_t>()[k] * shape[1] + columns.view<std::int32_t>()[k], want[static_cast<std::size_t>(k)]);
    const auto few = mw::device_get(mw::nonzero(third, 2, -1)[0]);
    EXPECT_EQ(few.size(), 2);
    EXPECT_EQ(few.view<std::int32_t>()[1], std::ssize(want) > 1 ? want[1] / shape[1] : -1);
  }
}

TEST(Update, WhatIsOutOfRange) {
  const auto x = mw::arange(4, mw::int64);
  const auto far = mw::asarray(Values{0, 4, -5, 3});
  EXPECT_EQ(values_of(mw::at(x, {far}).set(9)), (Values{9, 1, 2, 9}));
  EXPECT_EQ(values_of(mw::at(x, {far}, IndexMode::clip).add(10)), (Values{20, 1, 2, 23}));
  EXPECT_EQ(values_of(mw::at(x, {far}, IndexMode::wrap).add(10)), (Values{20, 1, 2, 23}));
  EXPECT_EQ(values_of(x[far]), (Values{0, 3, 0, 3}));
}

TEST(Update, Refused) {
  using support::words;
  const auto x = mw::zeros({4, 3});
  EXPECT_NE(words<mw::ShapeError>([&] { mw::at(x, {Slice(0, 2)}).set(mw::zeros({4})); }).find("does not broadcast"), std::string::npos);
  EXPECT_NE(words<mw::IndexError>([&] { mw::at(x, {7}).set(0); }).find("out of range"), std::string::npos);
  EXPECT_NE(words<mw::DtypeError>([&] { mw::getitem(x, {mw::zeros({2})}); }).find("integers or bool"), std::string::npos);
  EXPECT_NE(words<mw::IndexError>([&] { mw::getitem(x, {mw::zeros({3}, mw::bool_)}); }).find("does not fit"), std::string::npos);
  EXPECT_NE(words<mw::IndexError>([&] { mw::getitem(x, {mw::zeros({2}, mw::int32), mw::zeros({3}, mw::int32)}); }).find("do not broadcast"), std::string::npos);
}

}  // namespace

// ranks: 1 2 3 4 6 8
// devices_per_rank: 8 4@2
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// variant: private ranks=4 MESHWISE_STORE=private
// variant: nodes2 ranks=4 MESHWISE_NODE_SIZE=2
// variant: unchecked ranks=4 MESHWISE_CHECK=off
// timeout: 240
// Operations that only move values, on random layouts, against loops over the whole arrays.
#include <gtest/gtest.h>

#include "support/random_placement.hpp"

namespace mw = meshwise;
using mw::Array, mw::Slice;
using mw::testing::RandomPlacement;

namespace {

/// Row-major int32 values with their shape: the serial reference.
struct Plain {
  mw::Shape shape;
  std::vector<std::int32_t> values;

  static Plain counting(const mw::Shape& shape, std::int32_t first = 0) {
    Plain p{shape, std::vector<std::int32_t>(static_cast<std::size_t>(shape.num_elements()))};
    std::iota(p.values.begin(), p.values.end(), first);
    return p;
  }
  Array array() const { return mw::asarray(std::span<const std::int32_t>(values), shape); }
  std::int32_t at(const std::vector<std::int64_t>& index) const {
    std::int64_t k = 0;
    for (std::int64_t d = 0; d < shape.ndim(); ++d) k = k * shape[d] + index[static_cast<std::size_t>(d)];
    return values[static_cast<std::size_t>(k)];
  }
};

/// f(index) for every index of a shape, in row-major order.
template <class F>
Plain build(const mw::Shape& shape, F&& f) {
  Plain out{shape, {}};
  std::vector<std::int64_t> at(static_cast<std::size_t>(shape.ndim()), 0);
  for (std::int64_t k = 0; k < shape.num_elements(); ++k) {
    std::int64_t rest = k;
    for (std::int64_t d = shape.ndim(); d-- > 0; rest /= shape[d]) at[static_cast<std::size_t>(d)] = rest % shape[d];
    out.values.push_back(f(at));
  }
  return out;
}

void expect_equal(const Array& got, const Plain& want, const std::string& what) {
  const auto value = mw::device_get(got);
  ASSERT_EQ(value.shape(), want.shape) << what;
  for (std::int64_t k = 0; k < value.size(); ++k) ASSERT_EQ(value.view<std::int32_t>()[k], want.values[static_cast<std::size_t>(k)]) << what << ", element " << k;
}

/// An operand somewhere: uncommitted now and then.
Array place(RandomPlacement& random, const Plain& p, const mw::Mesh& mesh) {
  return random.below(5) == 0 ? p.array() : mw::device_put(p.array(), mw::NamedSharding(mesh, random.spec(mesh, p.shape.ndim())));
}

class Moves : public ::testing::TestWithParam<int> {};

TEST_P(Moves, HoldTheirValues) {
  for (int round = 0; round < 12; ++round) {
    const auto seed = static_cast<std::uint64_t>(GetParam() * 1000 + round);
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto ndim = 1 + random.below(3);
    const auto shape = random.shape(ndim);
    const auto p = Plain::counting(shape);
    const auto x = place(random, p, mesh);
    const auto what = fmt::format("seed {}: {} {}", seed, mw::type_string(x), x.sharding());

    // x[start:stop:step, ...]
    std::vector<mw::IndexExpression> items;
    std::vector<std::int64_t> starts, steps;
    mw::Shape cut;
    for (std::int64_t d = 0; d < ndim; ++d) {
      const auto n = shape[d], step = random.below(2) == 0 ? 1 + random.below(3) : -1 - random.below(3);
      const auto start = n == 0 ? 0 : random.below(n), most = n == 0 ? 0 : (step > 0 ? (n - start + step - 1) / step : start / -step + 1);
      const auto count = most == 0 ? 0 : random.below(most + 1);
      const auto stop = start + step * count;
      starts.push_back(start), steps.push_back(step), cut.push_back(count);
      items.emplace_back(stop < 0 ? Slice(start, std::nullopt, step) : Slice(start, stop, step));
    }
    expect_equal(mw::getitem(x, items), build(cut, [&](auto at) {
                   for (std::size_t d = 0; d < at.size(); ++d) at[d] = starts[d] + steps[d] * at[d];
                   return p.at(at);
                 }), what + " slice");

    // x[i] on one axis
    const auto axis = random.below(ndim);
    if (shape[axis] > 0) {
      const auto i = random.below(shape[axis]);
      auto rest = shape;
      rest.erase(axis);
      std::vector<mw::IndexExpression> one(static_cast<std::size_t>(axis), mw::IndexExpression(Slice()));
      one.emplace_back(i);
      expect_equal(mw::getitem(x, one), build(rest, [&](auto at) {
                     at.insert(at.begin() + axis, i);
                     return p.at(at);
                   }), what + " index");
    }

    // concatenate, stack
    auto other_shape = shape;
    other_shape[axis] = random.below(7);
    const auto q = Plain::counting(other_shape, 5000);
    const auto y = place(random, q, mesh);
    auto joined = shape;
    joined[axis] += other_shape[axis];
    expect_equal(mw::concatenate({x, y}, axis), build(joined, [&](auto at) {
                   auto& a = at[static_cast<std::size_t>(axis)];
                   if (a < shape[axis]) return p.at(at);
                   a -= shape[axis];
                   return q.at(at);
                 }), what + " concatenate");
    const auto twin = Plain::counting(shape, 9000);
    auto stacked = shape;
    const auto where = random.below(ndim + 1);
    stacked.insert(where, 2);
    expect_equal(mw::stack({x, place(random, twin, mesh)}, where), build(stacked, [&](auto at) {
                   const auto which = at[static_cast<std::size_t>(where)];
                   at.erase(at.begin() + where);
                   return which == 0 ? p.at(at) : twin.at(at);
                 }), what + " stack");

    // pad, flip, roll
    std::vector<std::pair<std::int64_t, std::int64_t>> widths;
    auto padded = shape;
    for (std::int64_t d = 0; d < ndim; ++d) {
      widths.emplace_back(random.below(3), random.below(3));
      padded[d] += widths.back().first + widths.back().second;
    }
    expect_equal(mw::pad(x, widths, -7), build(padded, [&](auto at) {
                   for (std::size_t d = 0; d < at.size(); ++d) {
                     at[d] -= widths[d].first;
                     if (at[d] < 0 || at[d] >= shape[static_cast<std::int64_t>(d)]) return -7;
                   }
                   return p.at(at);
                 }), what + " pad");
    expect_equal(mw::flip(x, {axis}), build(shape, [&](auto at) {
                   auto& a = at[static_cast<std::size_t>(axis)];
                   a = shape[axis] - 1 - a;
                   return p.at(at);
                 }), what + " flip");
    const auto shift = random.below(9) - 4;
    expect_equal(mw::roll(x, shift, axis), build(shape, [&](auto at) {
                   auto& a = at[static_cast<std::size_t>(axis)];
                   a = ((a - shift) % shape[axis] + shape[axis]) % shape[axis];
                   return p.at(at);
                 }), what + " roll");

    // reshape: to one axis and to some factorisation
    expect_equal(mw::reshape(x, {-1}), Plain{{shape.num_elements()}, p.values}, what + " flatten");
    auto grouped = shape;
    if (ndim > 1) {
      grouped[0] *= grouped[1];
      grouped.erase(1);
    }
    for (std::int64_t f = 6; f > 1; --f)
      if (grouped[0] > 0 && grouped[0] % f == 0) {
        grouped[0] /= f;
        grouped.insert(random.below(2), f);
        break;
      }
    expect_equal(mw::reshape(x, grouped), Plain{grouped, p.values}, what + " reshape to " + mw::to_string(grouped));

    // take, transpose, broadcast
    if (shape[axis] > 0) {
      Plain picks{{5}, {}};
      for (int k = 0; k < 5; ++k) picks.values.push_back(static_cast<std::int32_t>(random.below(shape[axis])));
      auto taken = shape;
      taken[axis] = 5;
      expect_equal(mw::take(x, place(random, picks, mesh), axis), build(taken, [&](auto at) {
                     at[static_cast<std::size_t>(axis)] = picks.values[static_cast<std::size_t>(at[static_cast<std::size_t>(axis)])];
                     return p.at(at);
                   }), what + " take");
    }
    expect_equal(mw::transpose(x), build(mw::Shape(mw::PerAxis<std::int64_t>(shape.lengths().rbegin(), shape.lengths().rend())), [&](auto at) {
                   std::reverse(at.begin(), at.end());
                   return p.at(at);
                 }), what + " transpose");
    auto wide = shape;
    wide.insert(0, 3);
    expect_equal(mw::broadcast_to(x, wide), build(wide, [&](auto at) {
                   at.erase(at.begin());
                   return p.at(at);
                 }), what + " broadcast_to");
  }
}

// A result with an axis that the movement doesn't know, whole on devices that had no part of it: no block of it can be lent as it is.
TEST(NewAxes, BesideAnInteger) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const mw::Shape shape{1 + random.below(9), 1 + random.below(5)};
    const auto p = Plain::counting(shape);
    const auto x = mw::device_put(p.array(), mw::NamedSharding(mesh, random.spec(mesh, 2)));
    const auto i = random.below(shape[0]);
    const auto row = build({1, shape[1]}, [&](auto at) { return p.at({i, at[1]}); });
    const auto what = fmt::format("seed {}: row {} of {} {}", seed, i, mw::type_string(x), x.sharding());
    expect_equal(mw::getitem(x, {mw::none, i}), row, what);
    expect_equal(mw::getitem(x, {i, mw::none}), row, what);
    expect_equal(mw::getitem(x, {i, Slice(), mw::none}), Plain{{shape[1], 1}, row.values}, what);
  }
}

// With two devices a rank, ranks 0 and 1 each read from the other and each hand on what they read.
TEST(NewAxes, BesideAnIntegerOnRanksThatReadFromEachOther) {
  if (mw::devices().size() < 8) GTEST_SKIP() << "needs 8 devices";
  const auto mesh = mw::make_mesh({2, 2, 2}, {"a", "b", "c"}, {.devices = mw::DeviceList{3, 1, 0, 2, 6, 7, 5, 4}});
  const auto p = Plain::counting({3, 4});
  for (int placing = 0; placing < 27; ++placing) {
    std::vector<std::vector<std::string>> axes(3);  // of the rows, of the columns, of neither
    auto rest = static_cast<std::size_t>(placing);
    for (const auto* name : {"a", "b", "c"}) {
      axes[rest % 3].emplace_back(name);
      rest /= 3;
    }
    const auto x = mw::device_put(p.array(), mw::NamedSharding(mesh, mw::P(axes[0], axes[1])));
    expect_equal(mw::getitem(x, {mw::none, std::int64_t{1}}), Plain{{1, 4}, {4, 5, 6, 7}}, fmt::format("{}", x.sharding()));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Moves, ::testing::Range(1, 6));

}  // namespace

// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// Elementwise operations on arrays of any layout against plain loops; the values of each function on its own are the conformance vectors'.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/exact.hpp"
#include "support/need_devices.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::Array, mw::Dtype, mw::LocalArray, mw::NamedSharding, mw::Operand, mw::P, mw::Shape;
using mw::testing::RandomPlacement, mw::testing::Whole;

namespace {

mw::Mesh line(std::int64_t n) { return mw::make_mesh({n}, {"x"}, {.devices = mw::devices().first(n)}); }

template <class T>
std::vector<T> values(const Array& x) {
  const auto whole = mw::device_get(x);
  return {whole.view<T>().begin(), whole.view<T>().end()};
}

struct Case {
  const char* name;
  std::function<Array(const Operand&, const Operand&)> call;
  std::function<Whole(Whole, Whole)> on_numbers;  // before the result's dtype takes it
  bool to_bool;
  bool with_bool, with_complex;
};

Whole truth(bool v) { return {v ? 1 : 0, 0}; }
bool before(Whole a, Whole b) { return a.re == b.re ? a.im < b.im : a.re < b.re; }

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"+", [](const Operand& x, const Operand& y) { return x + y; }, [](Whole a, Whole b) { return a + b; }, false, true, true},
      {"-", [](const Operand& x, const Operand& y) { return x - y; }, [](Whole a, Whole b) { return a - b; }, false, false, true},
      {"*", [](const Operand& x, const Operand& y) { return x * y; }, [](Whole a, Whole b) { return a * b; }, false, true, true},
      {"maximum", [](const Operand& x, const Operand& y) { return mw::maximum(x, y); },
       [](Whole a, Whole b) { return before(a, b) ? b : a; }, false, true, true},
      {"minimum", [](const Operand& x, const Operand& y) { return mw::minimum(x, y); },
       [](Whole a, Whole b) { return before(a, b) ? a : b; }, false, true, true},
      {"==", [](const Operand& x, const Operand& y) { return x == y; }, [](Whole a, Whole b) { return truth(a == b); }, true, true, true},
      {"!=", [](const Operand& x, const Operand& y) { return x != y; }, [](Whole a, Whole b) { return truth(!(a == b)); }, true, true,
       true},
      {"<", [](const Operand& x, const Operand& y) { return x < y; }, [](Whole a, Whole b) { return truth(before(a, b)); }, true, true,
       true},
      {">=", [](const Operand& x, const Operand& y) { return x >= y; }, [](Whole a, Whole b) { return truth(!before(a, b)); }, true, true,
       true},
      {"logical_xor", [](const Operand& x, const Operand& y) { return mw::logical_xor(x, y); },
       [](Whole a, Whole b) { return truth((a == Whole{}) != (b == Whole{})); }, true, true, true},
  };
  return all;
}

/// A shape that broadcasts to `full`: axes of length 1 here and there, leading ones gone.
Shape broadcastable(RandomPlacement& random, const Shape& full) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t d = random.below(3) == 0 && full.ndim() > 0 ? random.below(full.ndim() + 1) : 0; d < full.ndim(); ++d)
    lengths.push_back(random.below(4) == 0 ? 1 : full[d]);
  return Shape(std::move(lengths));
}

Whole at(const std::vector<Whole>& values, const Shape& own, const Shape& full, const std::vector<std::int64_t>& where) {
  std::int64_t linear = 0;
  for (std::int64_t d = 0; d < own.ndim(); ++d)
    linear = linear * own[d] + (own[d] == 1 ? 0 : where[static_cast<std::size_t>(d + full.ndim() - own.ndim())]);
  return values[static_cast<std::size_t>(linear)];
}

TEST(Elementwise, EveryDtypeShapeAndLayoutAgainstALoop) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    RandomPlacement random(seed);
    const auto& op = cases()[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(cases().size())))];
    const auto mesh = random.mesh();
    const auto full = random.shape(random.below(4));
    const Shape shapes[] = {broadcastable(random, full), broadcastable(random, full)};
    const Dtype dtypes[] = {random.dtype(), random.below(2) == 0 ? random.dtype() : static_cast<Dtype>(0)};
    const LocalArray hosts[] = {mw::testing::small_values(random, shapes[0], dtypes[0]),
                                mw::testing::small_values(random, shapes[1], dtypes[1])};
    const auto work = mw::promote_types(dtypes[0], dtypes[1]);
    const Array x = mw::testing::placed(random, hosts[0], mesh), y = mw::testing::placed(random, hosts[1], mesh);
    if (work == mw::bool_ && !op.with_bool) {
      EXPECT_THROW(op.call(x, y), mw::DtypeError);
      continue;
    }
    const auto shape = mw::broadcast_shapes(shapes[0], shapes[1], "test");
    const auto a = mw::testing::wholes(hosts[0]), b = mw::testing::wholes(hosts[1]);
    std::vector<Whole> want;
    for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
      const auto where = mw::testing::coordinates(i, shape);
      const auto p = mw::testing::in_dtype(at(a, shapes[0], shape, where), work),
                 q = mw::testing::in_dtype(at(b, shapes[1], shape, where), work);
      want.push_back(op.to_bool ? op.on_numbers(p, q) : mw::testing::in_dtype(op.on_numbers(p, q), work));
    }
    ASSERT_EQ(mw::testing::wrong(op.call(x, y), shape, op.to_bool ? mw::bool_ : work, want), "")
        << op.name << " of " << type_string(x) << " and " << type_string(y) << ", seed " << seed;
  }
}

TEST(Elementwise, WhereOfEveryLayout) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto full = random.shape(random.below(4));
    Shape shapes[3];
    for (auto& s : shapes) s = broadcastable(random, full);
    const Dtype dtypes[] = {random.dtype(), random.dtype(), random.dtype()};
    std::vector<LocalArray> hosts;
    std::vector<Array> x;
    std::vector<std::vector<Whole>> numbers;
    for (int i = 0; i < 3; ++i) {
      hosts.push_back(mw::testing::small_values(random, shapes[i], dtypes[i], 2));
      x.push_back(mw::testing::placed(random, hosts.back(), mesh));
      numbers.push_back(mw::testing::wholes(hosts.back()));
    }
    const auto work = mw::promote_types(dtypes[1], dtypes[2]);
    const auto shape = mw::broadcast_shapes(mw::broadcast_shapes(shapes[0], shapes[1], "test"), shapes[2], "test");
    std::vector<Whole> want;
    for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
      const auto c = mw::testing::coordinates(i, shape);
      const std::size_t pick = at(numbers[0], shapes[0], shape, c) == Whole{} ? 2 : 1;
      want.push_back(mw::testing::in_dtype(at(numbers[pick], shapes[pick], shape, c), work));
    }
    ASSERT_EQ(mw::testing::wrong(mw::where(x[0], x[1], x[2]), shape, work, want), "") << "seed " << seed;
  }
}

// SEMANTICS 6.5: the values of an elementwise operation are the same bits whatever the layout.
TEST(Elementwise, SameBitsOnEveryLayout) {
  using Function = Array (*)(const Array&);
  const Function functions[] = {mw::exp, mw::tanh, mw::sin, mw::log1p, mw::sqrt, mw::reciprocal, mw::cosh, mw::atan};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto shape = random.shape(2);
    const auto dtype = seed % 3 == 0 ? mw::float32 : seed % 3 == 1 ? mw::float64 : mw::bfloat16;
    const auto x = mw::astype(mw::linspace(0.1, 7.3, shape.num_elements(), true, mw::float64).reshape(shape), dtype);
    const auto spread = mw::device_put(x, NamedSharding(mesh, random.spec(mesh, 2)));
    const auto f = functions[random.below(8)];
    const auto one = mw::device_get(f(x) / 3.0 + x), many = mw::device_get(f(spread) / 3.0 + spread);
    ASSERT_EQ(std::memcmp(one.data(), many.contiguous().data(), static_cast<std::size_t>(one.nbytes())), 0) << "seed " << seed;
  }
}

TEST(Elementwise, CastsOfEveryLayout) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto shape = random.shape(random.below(4));
    const auto from = random.dtype(), to = random.dtype();
    const auto host = mw::testing::small_values(random, shape, from);
    std::vector<Whole> want;
    for (auto v : mw::testing::wholes(host)) {
      if (to != mw::bool_ && !is_complex(to)) v.im = 0;
      if (kind(to) == mw::DtypeKind::unsigned_integer && !mw::is_integer(from) && v.re < 0) v.re = 0;  // floats saturate
      want.push_back(mw::testing::in_dtype(v, to));
    }
    ASSERT_EQ(mw::testing::wrong(mw::testing::placed(random, host, mesh).astype(to), shape, to, want), "")
        << "seed " << seed << " from " << name(from);
  }
}

TEST(Elementwise, LiteralsAreWeakOnEitherSide) {
  const auto x = mw::device_put(mw::arange(6), NamedSharding(line(mw::devices().size()), P("x")));
  EXPECT_EQ((1 - x).dtype(), mw::int32);
  EXPECT_EQ((x * 2.5).dtype(), mw::float32);
  EXPECT_EQ((x.astype(mw::float16) * 2.5).dtype(), mw::float16);
  EXPECT_EQ((x.astype(mw::int64) * 2.5).dtype(), mw::float32);
  EXPECT_EQ((x.astype(mw::float64) + std::complex<float>(0, 1)).dtype(), mw::complex128);
  EXPECT_EQ((x / 2).dtype(), mw::float32);
  EXPECT_EQ(values<std::int32_t>(10 - x), (std::vector<std::int32_t>{10, 9, 8, 7, 6, 5}));
  EXPECT_EQ(values<std::int32_t>(-x % 4), (std::vector<std::int32_t>{0, 3, 2, 1, 0, 3}));
  EXPECT_EQ(values<std::int32_t>(x << 2 | 1), (std::vector<std::int32_t>{1, 5, 9, 13, 17, 21}));
  EXPECT_EQ(values<std::int32_t>(~x & 3), (std::vector<std::int32_t>{3, 2, 1, 0, 3, 2}));
  EXPECT_EQ(values<std::int32_t>(mw::clip(x, 2, 4)), (std::vector<std::int32_t>{2, 2, 2, 3, 4, 4}));
  EXPECT_EQ(values<std::int32_t>(mw::clip(x, {}, 3)), (std::vector<std::int32_t>{0, 1, 2, 3, 3, 3}));
  EXPECT_EQ(values<float>(mw::where(x < 3, 0.5f, x)), (std::vector<float>{0.5f, 0.5f, 0.5f, 3, 4, 5}));
  EXPECT_THROW(x.astype(mw::int8) + 300, mw::DtypeError);
  EXPECT_EQ(mw::add(2, 3.5).item<float>(), 5.5f);
  EXPECT_TRUE(mw::all(x == x).item<bool>());
  EXPECT_FALSE(mw::all(x == mw::flip(x)).item<bool>());
}

using support::words;

TEST(Elementwise, ErrorsNameTheOperationTheTypesAndTheCure) {
  const auto m = line(mw::devices().size());
  const auto x = mw::device_put(mw::ones({8, 4}), NamedSharding(m, P("x"))), y = mw::device_put(mw::ones({3}), NamedSharding(m, P()));
  const auto shapes = words<mw::ShapeError>([&] { return x + y; });
  for (const char* part : {"add", "(8, 4)", "(3,)"}) EXPECT_NE(shapes.find(part), std::string::npos) << shapes;
  const auto dtypes = words<mw::DtypeError>([&] { return x & 1; });
  for (const char* part : {"bitwise_and", "float32", "x: float32[8,4]", "y: 1", "bool, int8", "astype"})
    EXPECT_NE(dtypes.find(part), std::string::npos) << dtypes;
  EXPECT_THROW(mw::floor(x.astype(mw::complex64)), mw::DtypeError);
  EXPECT_THROW(-(x > 0), mw::DtypeError);
  EXPECT_THROW(mw::where(x, x, y), mw::ShapeError);
}

TEST(Elementwise, WhatIsUncommittedStaysSoAndRecipesCastAsRecipes) {
  const auto x = mw::arange(8);
  EXPECT_FALSE((x + 1).committed());
  EXPECT_FALSE(mw::exp(x).committed());
  const auto d = mw::devices()[mw::devices().size() - 1];
  const auto there = mw::device_put(x, d);
  EXPECT_TRUE((there + 1).committed());
  EXPECT_EQ((x + there).sharding().devices().ids(), std::vector<std::int64_t>{d.id});
  EXPECT_EQ(values<float>(x.astype(mw::float32) + there), (std::vector<float>{0, 2, 4, 6, 8, 10, 12, 14}));
}

// SEMANTICS 5.1: on different meshes over one ordered list of devices nothing merges; the operand with most tiles says mesh and spec, the first of equals.
TEST(Elementwise, OfDifferentMeshesOverTheSameDevicesMostTilesWin) {
  NEED_DEVICES(4);
  const auto over = [](const std::vector<std::int64_t>& sizes, const std::vector<std::string>& names) {
    return mw::make_mesh(sizes, names, {.devices = mw::devices().first(4)});
  };
  const auto square = over({2, 2}, {"a", "b"}), other = over({2, 2}, {"c", "d"}), row = over({4}, {"x"});
  const auto host = mw::arange(32).reshape({4, 8});
  const auto on = [&](const mw::Mesh& mesh, const mw::PartitionSpec& spec) { return mw::device_put(host, NamedSharding(mesh, spec)); };
  struct Pair {
    Array first, second;
    bool tie;  // else the second has more tiles
  };
  const Pair pairs[] = {
      {on(square, P("a", "b")), on(row, P("x")), true},
      {on(square, P("a")), on(other, P("d")), true},
      {on(square, P("a")), on(other, P(nullptr, "d")), true},  // on one mesh they would merge
      {on(square, P()), on(other, P()), true},
      {on(square, P("b")), on(row, P(nullptr, "x")), false},
      {on(square, P()), on(row, P("x")), false},
      {on(row, P()), on(square, P(nullptr, "b")), false},
      {on(other, P("c")), on(square, P(std::vector<std::string>{"b", "a"})), false},
  };
  std::vector<std::int32_t> twice;
  for (std::int32_t i = 0; i < 32; ++i) twice.push_back(2 * i);
  for (const auto& [x, y, tie] : pairs) {
    const auto forth = x + y, back = y + x;
    const auto what = fmt::format("{} and {}", x.sharding(), y.sharding());
    const auto& first = tie ? x : y;
    EXPECT_EQ(forth.sharding().spec(), first.sharding().spec()) << what;
    EXPECT_EQ(forth.sharding().mesh(), first.sharding().mesh()) << what;
    EXPECT_EQ(back.sharding().spec(), y.sharding().spec()) << what;
    EXPECT_EQ(back.sharding().mesh(), y.sharding().mesh()) << what;
    EXPECT_EQ(values<std::int32_t>(forth), twice) << what;
    EXPECT_EQ(values<std::int32_t>(back), twice) << what;
  }

  // Of three: the strictly larger one wherever it stands, and those on its mesh merge into it.
  const auto mask = on(square, P("a")) < 5, half = on(other, P("c")), along = on(other, P(nullptr, "d")), parts = on(row, P("x"));
  EXPECT_EQ(mw::where(mask, half, parts).sharding(), NamedSharding(row, P("x")));
  EXPECT_EQ(mw::where(mask, parts, half).sharding(), NamedSharding(row, P("x")));
  EXPECT_EQ(mw::where(half < 5, mask, along).sharding(), NamedSharding(other, P("c", "d")));
  EXPECT_EQ(mw::where(mask, half, along).sharding(), NamedSharding(square, P("a")));
}

TEST(UserCases, U035_TheGlobalShapeStaysGlobal) {
  NEED_DEVICES(4);
  const auto y = mw::exp(mw::device_put(mw::ones({4}), NamedSharding(line(4), P("x"))));
  EXPECT_EQ(y.shape(), (Shape{4}));
  for (const auto v : values<float>(y)) EXPECT_FLOAT_EQ(v, std::exp(1.0f));
  for (const auto& shard : y.addressable_shards()) EXPECT_EQ(shard.data().shape(), (Shape{1}));
}

TEST(UserCases, U039_MoreDevicesThanElements) {
  NEED_DEVICES(4);
  const auto x = mw::device_put(mw::asarray(std::vector<double>{1, 2, 3}), NamedSharding(line(4), P("x")));
  const auto y = mw::exp(x);
  const auto z = mw::exp(mw::device_put(x, NamedSharding(line(4), P()), {.donate = true}));
  for (const auto& result : {y, z}) {
    const auto v = values<double>(result);
    ASSERT_EQ(v.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(v[i], std::exp(static_cast<double>(i + 1)));
  }
}

}  // namespace

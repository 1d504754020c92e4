// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// Parts whose place is a number or an array, results whose spec is said, and constraints: of any layout, against plain loops.
#include <gtest/gtest.h>

#include "support/exact.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::Array, mw::AxisType, mw::IndexMode, mw::LocalArray, mw::NamedSharding, mw::Operand, mw::P, mw::Shape, mw::Slice;
using mw::testing::RandomPlacement, mw::testing::Whole;

namespace {

std::size_t number(const std::vector<std::int64_t>& at, const Shape& shape) {
  std::int64_t out = 0;
  for (std::int64_t d = 0; d < shape.ndim(); ++d) out = out * shape[d] + at[static_cast<std::size_t>(d)];
  return static_cast<std::size_t>(out);
}

// A start as a literal, or an array here or there on the mesh; negative and beyond the end too.
Operand start_at(RandomPlacement& random, std::int64_t start, const mw::Mesh& mesh) {
  const auto pick = random.below(4);
  if (pick == 0) return start;
  const auto x = mw::asarray(start).astype(start < 0 || pick == 1 ? mw::int64 : mw::uint64);
  return pick == 2 ? Operand(x) : Operand(mw::device_put(x, NamedSharding(mesh, P())));
}

TEST(DynamicSlice, PartsAndUpdatesOfEveryLayout) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto shape = random.shape(random.below(4));
    const auto dtype = random.dtype();
    const auto host = mw::testing::small_values(random, shape, dtype);
    const auto x = mw::testing::placed(random, host, mesh);
    std::vector<Operand> starts;
    std::vector<std::int64_t> sizes, at;
    for (const auto n : shape) {
      const auto size = random.below(n + 1), start = random.below(3 * n + 3) - n - 1;
      starts.push_back(start_at(random, start, mesh));
      sizes.push_back(size);
      at.push_back(std::clamp<std::int64_t>(start < 0 ? start + n : start, 0, n - size));
    }
    const auto from = mw::testing::wholes(host);
    const Shape part(sizes);
    const auto new_host = mw::testing::small_values(random, part, dtype);
    const auto update = mw::testing::placed(random, new_host, mesh);
    const auto news = mw::testing::wholes(new_host);
    std::vector<Whole> cut, replaced = from;
    for (std::int64_t k = 0; k < part.num_elements(); ++k) {
      auto place = mw::testing::coordinates(k, part);
      for (std::size_t d = 0; d < place.size(); ++d) place[d] += at[d];
      cut.push_back(from[number(place, shape)]);
      replaced[number(place, shape)] = news[static_cast<std::size_t>(k)];
    }
    const auto what = fmt::format("{}: {} on {}", seed, mw::type_string(x), mw::to_string(mesh));
    const auto slice = mw::dynamic_slice(x, starts, sizes);
    ASSERT_EQ(mw::testing::wrong(slice, part, dtype, cut), "") << what;
    const auto updated = mw::dynamic_update_slice(x, update, starts);
    ASSERT_EQ(mw::testing::wrong(updated, shape, dtype, replaced), "") << what;
    ASSERT_TRUE(!x.committed() || (slice.sharding() == x.sharding() && updated.sharding() == x.sharding())) << what;
  }
}

TEST(DynamicSlice, Refusals) {
  const auto x = mw::ones({4, 4});
  EXPECT_THROW(mw::dynamic_slice(x, {0}, {2, 2}), mw::ShapeError);
  EXPECT_THROW(mw::dynamic_slice(x, {0, 0}, {5, 2}), mw::ShapeError);
  EXPECT_THROW(mw::dynamic_slice(x, {0, 1.5}, {2, 2}), mw::DtypeError);
  EXPECT_THROW(mw::dynamic_slice(x, {0, mw::arange(2)}, {2, 2}), mw::ShapeError);
  EXPECT_THROW(mw::dynamic_slice(x, {0, mw::asarray(1.0f)}, {2, 2}), mw::DtypeError);
  EXPECT_THROW(mw::dynamic_update_slice(x, mw::ones({2, 5}), {0, 0}), mw::ShapeError);
  EXPECT_THROW(mw::dynamic_update_slice(x, mw::ones({2, 2}, mw::int32), {0, 0}), mw::DtypeError);
  if (mw::devices().size() < 2) return;
  const auto here = mw::device_put(x, mw::devices()[0]), start = mw::device_put(mw::asarray(1), mw::devices()[1]);
  EXPECT_NE(support::words<mw::CommitmentError>([&] {
              mw::dynamic_slice(here, {0, start}, {2, 2});
            }).find("dynamic_slice"),
            std::string::npos);
}

TEST(DynamicSlice, GetByEveryMode) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const Shape shape{1 + random.below(7), 1 + random.below(7), 1 + random.below(7)};
    const auto host = mw::testing::small_values(random, shape, mw::int64);
    const auto x = mw::testing::placed(random, host, mesh);
    const auto count = 1 + random.below(5);
    std::vector<std::int64_t> i, j;
    for (std::int64_t k = 0; k < count; ++k) i.push_back(random.below(24) - 12), j.push_back(random.below(24) - 12);
    const bool beside = random.below(2) == 0;  // [:, i, j] or [i, :, j]
    const auto mode = static_cast<IndexMode>(random.below(3));
    const auto a = mw::asarray(i), b = mw::asarray(j);
    const auto got =
        mw::at(x, beside ? std::vector<mw::IndexExpression>{Slice(), a, b} : std::vector<mw::IndexExpression>{a, Slice(), b}, mode).get();
    const auto resolved = [&](std::int64_t index, std::int64_t n) -> std::int64_t {
      if (mode == IndexMode::wrap) return (index % n + n) % n;
      if (index < 0) index += n;
      if (mode == IndexMode::clip) return std::clamp<std::int64_t>(index, 0, n - 1);
      return index < 0 || index >= n ? -1 : index;
    };
    const auto from = mw::testing::wholes(host);
    const auto length = shape[beside ? 0 : 1];
    const Shape result = beside ? Shape{length, count} : Shape{count, length};
    std::vector<Whole> want;
    for (std::int64_t k = 0; k < result.num_elements(); ++k) {
      const auto at = mw::testing::coordinates(k, result);
      const auto r = at[beside ? 0 : 1];
      const auto c = static_cast<std::size_t>(at[beside ? 1 : 0]);
      const auto p = resolved(i[c], shape[beside ? 1 : 0]), q = resolved(j[c], shape[2]);
      if (p < 0 || q < 0)
        want.push_back({std::numeric_limits<std::int64_t>::min(), 0});
      else
        want.push_back(from[beside ? number({r, p, q}, shape) : number({p, r, q}, shape)]);
    }
    ASSERT_EQ(mw::testing::wrong(got, result, mw::int64, want), "") << seed << ": " << mw::type_string(x);
  }
}

// The result lies where it is said to, and has the value that it has anyway.
TEST(OutSharding, OfEveryOperationThatTakesOne) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomPlacement random(seed);
    const auto drawn = random.mesh();
    const bool is_explicit = random.below(2) == 0;
    const auto mesh = mw::make_mesh(drawn.axis_sizes(), drawn.axis_names(),
                                    {.devices = drawn.devices(), .axis_types = is_explicit ? AxisType::Explicit : AxisType::Auto});
    const Shape shape{1 + random.below(9), 1 + random.below(9), 1 + random.below(9)};
    const auto host = mw::arange(shape.num_elements()).reshape(shape);
    const auto x = mw::device_put(host, NamedSharding(mesh, random.spec(mesh, 3)));
    const auto count = 1 + random.below(5);
    std::vector<std::int64_t> i;
    for (std::int64_t k = 0; k < count; ++k) i.push_back(random.below(shape[0]));
    const auto a = mw::asarray(i);
    const auto check = [&](const char* name, const auto& f) {
      const auto plain = mw::device_get(f(host, std::optional<mw::PartitionSpec>{})).contiguous();
      const auto spec = random.spec(mesh, plain.ndim());
      const auto got = f(x, std::optional(spec));
      const auto values = mw::device_get(got).contiguous();
      ASSERT_EQ(values.shape(), plain.shape()) << name;
      ASSERT_EQ(std::memcmp(values.data(), plain.data(), static_cast<std::size_t>(plain.nbytes())), 0) << name << ", seed " << seed;
      ASSERT_TRUE(got.sharding().is_equivalent_to(NamedSharding(mesh, spec), got.ndim()))
          << name << ": " << mw::type_string(got) << ", seed " << seed;
    };
    check("take", [&](const Array& y, const auto& out) { return mw::take(y, a, 0, IndexMode::clip, out); });
    check("get", [&](const Array& y, const auto& out) { return mw::at(y, {a}).get(out); });
    check("getitem, slices", [&](const Array& y, const auto& out) { return mw::getitem(y, {0, Slice(0, mw::none, 2), mw::none}, out); });
    check("getitem, one array", [&](const Array& y, const auto& out) { return mw::getitem(y, {Slice(), 0, a}, out); });
    check("getitem, two arrays", [&](const Array& y, const auto& out) { return mw::getitem(y, {a, Slice(0, 3), a}, out); });
    check("getitem, two arrays side by side", [&](const Array& y, const auto& out) {
      return mw::getitem(y, {mw::none, Slice(1, 3), a, a}, out);
    });
    if (!is_explicit)
      check("broadcast_to", [&](const Array& y, const auto& out) { return mw::broadcast_to(y, {2, shape[0], shape[1], shape[2]}, out); });
  }
}

TEST(OutSharding, ThatDoesNotFit) {
  const auto n = mw::devices().size();
  const auto mesh = mw::make_mesh({n}, {"x"});
  const auto x = mw::device_put(mw::ones({4, 4}), NamedSharding(mesh, P("x")));
  const auto a = mw::arange(2);
  EXPECT_THROW(mw::take(x, a, 0, IndexMode::clip, P("y")), mw::UnknownAxisError);
  EXPECT_THROW(mw::getitem(x, {a, a}, P("x", nullptr)), mw::PlacementError);
  EXPECT_THROW(mw::broadcast_to(x, {4, 4}, P(nullptr, nullptr, "x")), mw::PlacementError);
}

TEST(Constraint, MovesOnAutoAxesAndAssertsOnExplicitOnes) {
  const auto n = mw::devices().size();
  const auto mesh = mw::make_mesh({n}, {"x"});
  const auto x = mw::device_put(mw::arange(2 * n + 1).reshape({2 * n + 1, 1}), NamedSharding(mesh, P("x")));
  const auto whole = mw::with_sharding_constraint(x, P());
  EXPECT_TRUE(whole.sharding() == NamedSharding(mesh, P()));
  EXPECT_EQ(mw::with_sharding_constraint(mw::ones({n}), NamedSharding(mesh, P("x"))).sharding(), NamedSharding(mesh, P("x")));
  const auto typed = mw::make_mesh({n}, {"x"}, {.axis_types = AxisType::Explicit});
  const auto y = mw::device_put(mw::ones({n, 1}), NamedSharding(typed, P("x")));
  EXPECT_TRUE(mw::with_sharding_constraint(y, P("x", nullptr)).sharding() == y.sharding());
  const auto words = support::words<mw::ShardingTypeError>([&] { mw::with_sharding_constraint(y, P(nullptr, "x")); });
  EXPECT_NE(words.find("with_sharding_constraint"), std::string::npos);
  EXPECT_NE(words.find("reshard"), std::string::npos) << words;
  if (n < 2) return;
  const auto words2 =
      support::words<mw::CommitmentError>([&] { mw::with_sharding_constraint(x, mw::SingleDeviceSharding(mw::devices()[1])); });
  EXPECT_NE(words2.find("with_sharding_constraint"), std::string::npos);
}

}  // namespace

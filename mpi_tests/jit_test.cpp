// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// variant: delays ranks=4 MESHWISE_DELAY_SEED=5
// Functions that are recorded and run again: the same values as when they run as they stand, bit for bit, whatever the layouts.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "support/exact.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape;
using mw::testing::RandomPlacement;

namespace {

NamedSharding rows() { return NamedSharding(mw::make_mesh({mw::devices().size()}, {"x"}), P("x")); }

void expect_same(const Array& got, const Array& want, const std::string& what) {
  ASSERT_EQ(mw::type_string(got), mw::type_string(want)) << what;
  ASSERT_EQ(got.committed(), want.committed()) << what;
  ASSERT_TRUE(got.sharding() == want.sharding()) << what;
  const auto a = mw::device_get(got).contiguous(), b = mw::device_get(want).contiguous();
  ASSERT_TRUE(a.size() == 0 || std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.nbytes())) == 0) << what;
}

using Binary = std::function<Array(const Array&, const Array&)>;
const std::vector<std::pair<const char*, Binary>>& functions() {
  static const std::vector<std::pair<const char*, Binary>> all{
      {"chain", [](const Array& x, const Array& y) { return mw::exp(mw::tanh(x) * 2.0f + y) - 1.0f; }},
      {"reductions", [](const Array& x, const Array& y) { return mw::sum(x * y, {0}) + mw::max(x, {0}) - mw::mean(y, {0}); }},
      {"softmax", [](const Array& x, const Array& y) { return mw::softmax(x + y, 1); }},
      {"var", [](const Array& x, const Array& y) { return mw::var(x, {1}, true) * y; }},
      {"matmul", [](const Array& x, const Array& y) { return mw::matmul(x, y.T()); }},
      {"shapes", [](const Array& x, const Array& y) { return mw::reshape(mw::concatenate({x, y.T().T()}, 1), {-1}) + 0.5f; }},
      {"slices", [](const Array& x, const Array& y) { return x[{mw::Slice(1, mw::none), mw::Slice(mw::none, mw::none, 2)}] * y[{0, 0}]; }},
      {"updates", [](const Array& x, const Array& y) { return mw::at(x, {0}).set(y[0]); }},
      {"gathers", [](const Array& x, const Array& y) { return mw::take(x, mw::argmax(y, 0), 0); }},
      {"sort", [](const Array& x, const Array& y) { return mw::sort(x, 0) + mw::argsort(y, 1).astype(mw::float32); }},
      {"scan", [](const Array& x, const Array& y) { return mw::cumulative_sum(x, 0) + mw::diff(y, 1, 1, mw::zeros({x.shape()[0], 1})); }},
      {"windows", [](const Array& x, const Array& y) { return mw::window_max(x, {2, 1}) + mw::window_mean(y, {2, 1}); }},
      {"broadcasts", [](const Array& x, const Array& y) { return mw::where(mw::greater(x, 0), x, mw::broadcast_to(y[0], x.shape())); }},
      {"random", [](const Array& x, const Array& y) { return x + y * mw::random::normal(mw::random::key(3), x.shape()); }},
      {"tiles", [](const Array& x, const Array& y) { return mw::tile(x, {2, 1}) + mw::repeat(y, 2, 0); }},
      {"norms", [](const Array& x, const Array& y) { return mw::linalg::vector_norm(x, {1}) + mw::trace(mw::matmul(x.T(), y)); }},
      {"placed", [](const Array& x, const Array& y) { return mw::with_sharding_constraint(x * y, P()) + x; }},
      {"unused", [](const Array& x, const Array& y) { return mw::sum(y, {0}), x * 3.0f; }},
      {"argument", [](const Array& x, const Array&) { return x; }},
  };
  return all;
}

TEST(Jit, SameBitsAsWithout) {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const Shape shape{2 + random.below(7), 2 + random.below(7)};
    const auto draw = [&](std::int64_t key) { return mw::device_put(mw::random::normal(mw::random::key(key), shape), NamedSharding(mesh, random.spec(mesh, 2))); };
    const auto x = draw(1), y = draw(2), x2 = draw(3), y2 = draw(4);
    for (const auto& [name, f] : functions()) {
      const auto jitted = mw::jit(f);
      const auto what = fmt::format("{}, seed {}: {} {} on {}", name, seed, mw::type_string(x), mw::type_string(y), mw::to_string(mesh));
      expect_same(jitted(x, y), f(x, y), what);
      expect_same(jitted(x, y), f(x, y), what);
      EXPECT_EQ(jitted.trace_count(), 1) << what;
      expect_same(jitted(x2, y2), f(x2, y2), what);
    }
  }
}

TEST(Jit, RecordsOncePerKindOfArguments) {
  int runs = 0;
  const auto f = mw::jit([&](const Array& x, float factor) {
    ++runs;
    return x * factor;
  });
  const auto a = mw::device_put(mw::arange(12.0f), rows());
  for (int k = 0; k < 5; ++k) EXPECT_EQ(f(a, 2.0f).sum().item<float>(), 132.0f);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(f(a, 3.0f).sum().item<float>(), 198.0f);  // another static argument
  EXPECT_EQ(f(a.astype(mw::float64), 2.0f).dtype(), mw::float64);
  EXPECT_EQ(f(mw::reshard(a, P()), 2.0f).sum().item<float>(), 132.0f);
  EXPECT_EQ(f(mw::arange(12.0f), 2.0f).sum().item<float>(), 132.0f);  // uncommitted
  EXPECT_EQ(f(a[mw::Slice(0, 6)], 2.0f).size(), 6);
  EXPECT_EQ(runs, 6);
  EXPECT_EQ(f.trace_count(), 6);
}

TEST(Jit, TreesInAndOut) {
  using Pair = std::pair<Array, std::vector<Array>>;
  const auto f = mw::jit([](const mw::Tree& parameters, const std::tuple<Array, Array>& xy, const std::map<std::string, Array>& more) {
    const auto& [x, y] = xy;
    return Pair{x * parameters["w"] + more.at("shift"), {y - parameters["b"], parameters["w"]}};
  });
  const auto at = [](float v) { return mw::device_put(mw::full({4}, v), rows()); };
  const mw::Tree parameters{{"w", at(2)}, {"b", at(3)}};
  for (int k = 0; k < 2; ++k) {
    const auto [first, rest] = f(parameters, std::tuple{at(5), at(7)}, std::map<std::string, Array>{{"shift", at(1)}});
    EXPECT_EQ(first.sum().item<float>(), 44.0f);
    ASSERT_EQ(rest.size(), 2u);
    EXPECT_EQ(rest[0].sum().item<float>(), 16.0f);
    EXPECT_EQ(rest[1].sum().item<float>(), 8.0f);
  }
  EXPECT_EQ(f.trace_count(), 1);
}

TEST(Jit, NestedFunctionsArePartOfTheOuterOne) {
  int runs = 0;
  const auto inner = mw::jit([&](const Array& x) {
    ++runs;
    return mw::tanh(x);
  });
  const auto outer = mw::jit([&](const Array& x) { return inner(x) + inner(x * 2); });
  const auto x = mw::device_put(mw::arange(6.0f), rows());
  for (int k = 0; k < 3; ++k) expect_same(outer(x), mw::tanh(x) + mw::tanh(x * 2), "nested");
  EXPECT_EQ(runs, 2);
}

TEST(Jit, ReadingAValueInsideIsRefused) {
  const auto x = mw::device_put(mw::arange(6.0f), rows());
  const auto refused = [&](const std::function<Array(const Array&)>& f) {
    const auto words = support::words<mw::Error>([&] { mw::jit(f)(x); });
    EXPECT_NE(words.find("inside jit"), std::string::npos) << words;
    EXPECT_EQ(mw::sum(x).item<float>(), 15.0f);  // and all goes on as before
  };
  refused([](const Array& v) { return v * v.sum().item<float>(); });
  refused([](const Array& v) { return mw::device_get(v).size() > 3 ? v : v + 1; });
  refused([](const Array& v) { return v[mw::greater(v, 2)]; });
  refused([](const Array& v) { return mw::nonzero(v)[0]; });
  refused([](const Array& v) { return v.addressable_shards().empty() ? v : v + 1; });
  refused([](const Array& v) { return mw::block_until_ready(v) + 1; });
  Array kept;
  mw::jit([&](const Array& v) { return kept = v + 1; })(x);
  const auto words = support::words<mw::Error>([&] { mw::device_get(kept); });
  EXPECT_NE(words.find("that jit recorded"), std::string::npos) << words;
}

TEST(Jit, OneListOfDevices) {
  const auto n = mw::devices().size();
  if (n < 2) GTEST_SKIP() << "one device";
  const NamedSharding all = rows(), half(mw::make_mesh({n / 2}, {"x"}, {.devices = mw::devices().first(n / 2)}), P("x"));
  const auto x = mw::device_put(mw::arange(12.0f), all), z = mw::device_put(mw::arange(12.0f), half);
  const auto refused = [&](auto f, auto... args) {
    const auto words = support::words<mw::CommitmentError>([&] { mw::jit(f, {.name = "step"})(args...); });
    EXPECT_NE(words.find(mw::to_string(all.devices())), std::string::npos) << words;
    EXPECT_NE(words.find(mw::to_string(half.devices())), std::string::npos) << words;
    return words;
  };
  // Inside, layouts change and devices don't.
  const auto moved = refused([&](const Array& v) { return mw::device_put(v + 1, half); }, x);
  EXPECT_NE(moved.find("argument 0 of step with type float32[12]"), std::string::npos) << moved;
  EXPECT_NE(moved.find("device_put inside jit at jit_test.cpp:"), std::string::npos) << moved;
  refused([&](const Array& v) { return v + z; }, x);
  refused([](const Array& v, const Array& w) { return std::pair{v + 1, w + 1}; }, x, z);
  refused([&](const Array& v) { return std::pair{v, z}; }, x);
  // What isn't used doesn't count.
  const auto f = mw::jit([](const Array& v, const Array& w) { return mw::exp(w), v + 1; });
  EXPECT_EQ(f(x, z).sum().item<float>(), 78.0f);
  // Uncommitted arrays follow, results too.
  const auto g = mw::jit([](const Array& v, const Array& w) { return std::pair{v + w, w * 2}; });
  const auto [sum, twice] = g(x, mw::arange(12.0f));
  EXPECT_TRUE(twice.committed());
  EXPECT_EQ(twice.sharding().devices(), all.devices());
  EXPECT_EQ(twice.sum().item<float>(), 132.0f);
  const auto to = mw::jit([&](const Array& v) { return mw::device_put(v, half) + 1; });
  EXPECT_EQ(to(mw::arange(12.0f)).sharding().devices(), half.devices());
}

TEST(Jit, ShardingsOfArgumentsAndResults) {
  const auto all = rows();
  const auto f = mw::jit([](const Array& x, const Array& y) { return x + y; }, {.in_shardings = {{}, all}, .out_sharding = mw::Sharding(NamedSharding(all.mesh(), P()))});
  const auto x = mw::device_put(mw::arange(8.0f), all);
  const auto sum = f(x, mw::arange(8.0f));
  EXPECT_TRUE(sum.is_fully_replicated() && sum.committed());
  EXPECT_EQ(sum.sum().item<float>(), 56.0f);
  if (mw::devices().size() < 2) return;
  EXPECT_NE(support::words<mw::CommitmentError>([&] { f(x, mw::reshard(x, P())); }).find("in_shardings"), std::string::npos);
}

TEST(Jit, DonatedArgumentsAreGone) {
  const auto f = mw::jit([](const Array& x, const Array& y) { return x + y; }, {.name = "step", .donate_argnums = {0}});
  const auto x = mw::device_put(mw::arange(8.0f), rows()), alias = x, y = mw::device_put(mw::ones({8}), rows());
  EXPECT_EQ(f(x, y).sum().item<float>(), 36.0f);
  EXPECT_TRUE(alias.is_deleted());
  EXPECT_FALSE(y.is_deleted());
  EXPECT_NE(support::words<mw::DonatedError>([&] { f(x, y); }).find("donated to step (jit)"), std::string::npos);
  EXPECT_NE(support::words<mw::DonatedError>([&] { f(y, y); }).find("once more"), std::string::npos);
  EXPECT_FALSE(y.is_deleted());
  // Nothing could take its memory: it stays.
  const auto sums = mw::jit([](const Array& v) { return mw::sum(v); }, {.donate_argnums = {0}});
  EXPECT_EQ(sums(y).item<float>(), 8.0f);
  EXPECT_FALSE(y.is_deleted());
}

TEST(Jit, LowerSaysWhatItWouldDo) {
  const auto x = mw::device_put(mw::arange(8.0f), rows());
  const auto f = mw::jit([](const Array& v) { return mw::exp(v), mw::sum(v * 2); });
  const auto text = f.lower(x);
  EXPECT_NE(text.find("sum: float32[8@x] -> float32[] (one pass: multiply, sum)"), std::string::npos) << text;
  EXPECT_EQ(text.find("exp"), std::string::npos) << text;  // nobody wants it
  EXPECT_EQ(f(x).item<float>(), 56.0f);
  EXPECT_EQ(f.trace_count(), 1);
}

}  // namespace

// ranks: 1 3 4
// devices_per_rank: 8
// What networks are made of, on any layout, against plain loops in double.
#include <gtest/gtest.h>

#include <cmath>

#include "support/exact.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::Shape;
using mw::testing::RandomPlacement;

namespace {

std::vector<double> values(const Array& x) {
  const auto whole = mw::device_get(x.astype(mw::float64)).contiguous();
  return {whole.view<double>().begin(), whole.view<double>().end()};
}

TEST(Nn, AgainstLoops) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const Shape shape{1 + random.below(7), 1 + random.below(9)};
    const auto x = mw::device_put(mw::random::normal(mw::random::key(static_cast<std::int64_t>(seed)), shape) * 100.0, NamedSharding(mesh, random.spec(mesh, 2)));
    const auto from = values(x), sums = values(mw::logsumexp(x, {1})), parts = values(mw::softmax(x)), logs = values(mw::log_softmax(x)), positive = values(mw::relu(x)),
               gates = values(mw::sigmoid(x)), smooth = values(mw::gelu(x));
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      double top = -INFINITY, total = 0;
      for (std::int64_t j = 0; j < shape[1]; ++j) top = std::max(top, from[static_cast<std::size_t>(i * shape[1] + j)]);
      for (std::int64_t j = 0; j < shape[1]; ++j) total += std::exp(from[static_cast<std::size_t>(i * shape[1] + j)] - top);
      const auto want = top + std::log(total);
      EXPECT_NEAR(sums[static_cast<std::size_t>(i)], want, 1e-5 * std::max(1.0, std::abs(want)));
      for (std::int64_t j = 0; j < shape[1]; ++j) {
        const auto k = static_cast<std::size_t>(i * shape[1] + j);
        const auto v = from[k];
        EXPECT_NEAR(parts[k], std::exp(v - want), 2e-5);
        EXPECT_NEAR(logs[k], v - want, 1e-4 * std::max(1.0, std::abs(v - want)));
        EXPECT_EQ(positive[k], std::max(v, 0.0));
        EXPECT_NEAR(gates[k], 1 / (1 + std::exp(-v)), 1e-6);
        EXPECT_NEAR(smooth[k], 0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))), 1e-5 * std::max(1.0, std::abs(v)));
      }
    }
  }
}

TEST(Nn, OneHotAndInfinities) {
  const auto hot = values(mw::one_hot(mw::asarray({2, -1, 0}), 3));
  EXPECT_EQ(hot, (std::vector<double>{0, 0, 1, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(values(mw::logsumexp(mw::full({3}, -INFINITY)))[0], -INFINITY);
  EXPECT_EQ(values(mw::logsumexp(mw::asarray({0.0f, INFINITY})))[0], INFINITY);
}

}  // namespace

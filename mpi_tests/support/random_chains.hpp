// Chains of random movements: what was moved is moved again, and every shard is looked at after each hop.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/random_placement.hpp"

namespace meshwise::testing {

inline std::string describe(const Array& x) { return fmt::format("{} {} on {}", type_string(x), x.sharding().spec(), x.sharding().mesh().devices()); }

/// Three movements for each seed from `first` to `last`, or for as many as a variant asks for (MESHWISE_TEST_CHAINS). Each number of devices, and each variant
/// (MESHWISE_TEST_FIRST), has seeds of its own.
inline void random_chains(std::uint64_t first, std::uint64_t last) {
  if (const auto* const asked = std::getenv("MESHWISE_TEST_CHAINS")) last = first + std::strtoull(asked, nullptr, 10) - 1;
  auto shift = static_cast<std::uint64_t>(devices().size()) * 100'000;
  if (const auto* const asked = std::getenv("MESHWISE_TEST_FIRST")) shift += std::strtoull(asked, nullptr, 10);
  first += shift;
  last += shift;
  for (auto seed = first; seed <= last; ++seed) {
    RandomPlacement random(seed);
    const auto ndim = random.below(5);
    const auto shape = random.shape(ndim);
    const auto dtype = random.dtype();
    auto x = device_put(counting(shape, dtype), random.sharding(ndim));
    std::string words = describe(x);
    for (int hop = 0; hop < 3; ++hop) {
      const auto target = random.sharding(ndim);
      const auto y = device_put(x, target);
      ASSERT_EQ(wrong_shards(y), "") << "seed " << seed << ": " << words << " -> " << describe(y);
      ASSERT_EQ(wrong_shards(x), "") << "seed " << seed << ": the source of the move changed";
      EXPECT_TRUE(y.committed());
      words += " -> " + describe(y);
      x = y;
    }
  }
}

}  // namespace meshwise::testing

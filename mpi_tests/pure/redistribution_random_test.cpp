// timeout: 120
// 20,000 random movements, each carried out on counted elements: any mesh to any mesh, views, transpositions, regions, units.
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/plan_oracle.hpp"

namespace meshwise::testing {
namespace {

// MESHWISE_CASE=n runs case n alone.
TEST(RedistributionRandom, EveryPromiseOfThePlan) {
  const char* const one = std::getenv("MESHWISE_CASE");
  const auto first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1, last = one != nullptr ? first : 20000;
  for (auto seed = first; seed <= last; ++seed) {
    const auto c = CaseMaker(seed).make();
    try {
      PlanOracle(c).check();
    } catch (const std::exception& e) {
      FAIL() << "case " << seed << ": " << e.what() << "\n  " << c.text() << "\n" << to_string(c.movement(), c.topology());
    }
  }
  for (const auto& [kind, count] : PlanOracle::seen) fmt::print("{:>10}: {} pieces\n", kind, count);
  if (one != nullptr) return;
  for (const auto kind : {"alias", "old block", "new block", "copy", "send"}) EXPECT_GT(PlanOracle::seen[kind], 1000) << kind;
}

}  // namespace
}  // namespace meshwise::testing

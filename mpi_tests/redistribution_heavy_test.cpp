// A million random movements.
// heavy
// ranks: 4
// variant: private ranks=4 MESHWISE_STORE=private
// timeout: 7200
#include "support/random_chains.hpp"

namespace {

TEST(Redistribution, AMillionMovesHoldTheirValues) { meshwise::testing::random_chains(1'000'000, 1'333'333); }

}  // namespace

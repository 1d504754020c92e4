// ranks: 2 3 4
// variant: private ranks=4 MESHWISE_STORE=private
// variant: nodes2 ranks=4 MESHWISE_NODE_SIZE=2
// variant: small_pool ranks=4 MESHWISE_POOL_BYTES=100000
// devices_per_rank: 4@2
// timeout: 120
// Memory that is used again while others still read what was there: not one byte of theirs changes.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <random>
#include <thread>

#include <meshwise/meshwise.hpp>

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

/// How many elements of this rank's shards are not `want`.
std::int64_t others_than(const mw::Array& x, std::int64_t want) {
  std::int64_t wrong = 0;
  for (const auto& shard : x.addressable_shards()) {
    const auto data = shard.data().contiguous();
    const auto* at = data.view<std::int64_t>().data();
    for (std::int64_t k = 0; k < data.size(); ++k) wrong += at[k] != want;
  }
  return wrong;
}

/// Now and then, on one rank at a time, a pause: that rank reads long after the others have gone on.
class Pauses {
 public:
  void maybe() {
    if (random_() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 3000));
  }

 private:
  std::minstd_rand random_{static_cast<unsigned>(mw::process_index()) + 1};
};

void churn(std::int64_t side, int rounds) {
  const auto n = mw::devices().size();
  const auto line = mw::make_mesh({n}, {"x"}), reversed = mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()});
  const NamedSharding rows(line, P("x"));
  const std::vector<NamedSharding> targets{{line, P(nullptr, "x")}, {reversed, P("x")}, {line, P()}, {reversed, P(nullptr, "x")}};
  Pauses pauses;
  std::deque<std::pair<std::int64_t, mw::Array>> held;
  for (int round = 0; round < rounds; ++round) {
    // The source is dropped with the transfer on its way: its memory is the next one's as soon as nobody reads it.
    auto x = mw::device_put(mw::full({side, side}, round, mw::int64), rows);
    held.emplace_back(round, mw::device_put(x, targets[static_cast<std::size_t>(round) % targets.size()]));
    held.emplace_back(round, x[mw::Slice(side / 4, side / 2)]);
    x = mw::Array{};
    pauses.maybe();
    while (held.size() > 9) {
      ASSERT_EQ(others_than(held.front().second, held.front().first), 0) << "made in round " << held.front().first << ", looked at in round " << round;
      held.pop_front();
    }
  }
}

TEST(Recycling, SmallBlocks) { churn(24, 600); }
TEST(Recycling, BlocksThatSharePages) { churn(150, 200); }
TEST(Recycling, LargeBlocks) { churn(1200, 40); }

}  // namespace

// ranks: 3 5 7
// variant: private ranks=4 MESHWISE_STORE=private
// variant: nodes2 ranks=4 MESHWISE_NODE_SIZE=2
// variant: dealt ranks=5 MESHWISE_NODES=0,1
// variant: devices2 ranks=3 MESHWISE_NODE_SIZE=2 MESHWISE_DEVICES_PER_RANK=2
// variant: unchecked ranks=4 MESHWISE_CHECK=off
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// variant: delays3 ranks=3 MESHWISE_DELAY_SEED=3
// variant: delays5 ranks=5 MESHWISE_DELAY_SEED=5
// variant: delays7 ranks=7 MESHWISE_DELAY_SEED=7
// variant: delays.private ranks=7 MESHWISE_DELAY_SEED=8 MESHWISE_STORE=private
// The copies of a reduced value are the same bits on every rank, run after run, whatever the delays.
#include <gtest/gtest.h>

#include "support/random_placement.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

/// Whether all devices hold the bits device 0 holds; Collective.
bool copies_agree(const mw::Array& x) {
  const auto first = mw::device_get(x, 0);
  const auto want = mw::device_put(mw::root_only(first, x.shape(), x.dtype(), 0), NamedSharding(x.sharding().mesh(), P()));
  bool agree = true;
  for (std::size_t i = 0; i < x.addressable_shards().size(); ++i) {
    const auto mine = x.addressable_shards()[i].data().contiguous(), other = want.addressable_shards()[i].data().contiguous();
    agree = agree && std::memcmp(mine.data(), other.data(), static_cast<std::size_t>(mine.nbytes())) == 0;
  }
  return agree;
}

TEST(Replicas, SumsAreTheSameBitsOnEveryRankAndEveryTime) {
  const auto n = mw::devices().size();
  const auto mesh = mw::make_mesh({n}, {"x"});
  const auto x = mw::device_put(mw::random::normal(mw::random::key(11), {4001, 33}), NamedSharding(mesh, P("x")));
  const auto y = mw::device_put(mw::random::normal(mw::random::key(12), {4001, 29}), NamedSharding(mesh, P("x")));
  const std::vector<std::function<mw::Array()>> reductions{[&] { return mw::sum(x); }, [&] { return mw::sum(x, {0}); }, [&] { return mw::mean(mw::exp(x)); },
                                                           [&] { return mw::matmul(x.T(), y); }, [&] { return mw::sum(x.astype(mw::float64), {0}); }};
  for (const auto& reduction : reductions) {
    const auto once = reduction();
    EXPECT_TRUE(once.is_fully_replicated());
    EXPECT_TRUE(copies_agree(once));
    const auto first = mw::device_get(once);
    for (int round = 0; round < 5; ++round) {
      const auto again = mw::device_get(reduction());
      EXPECT_EQ(std::memcmp(first.contiguous().data(), again.contiguous().data(), static_cast<std::size_t>(first.nbytes())), 0);
    }
  }
}

// Contractions whose parts are added up where the result lies (a reduce-scatter), which has a copy on every other device.
TEST(Replicas, ContractionsThatScatterAreTheSameBitsOnEveryCopy) {
  const auto n = mw::devices().size();
  const auto copies = n % 2 == 0 ? 2 : 1;
  const auto mesh = mw::make_mesh({n / copies, copies}, {"x", "y"});
  for (const std::int64_t side : {13, 517}) {  // small blocks in one exchange, large ones slice by slice
    const auto a = mw::device_put(mw::random::normal(mw::random::key(13), {side, 1001}), NamedSharding(mesh, P(nullptr, "x")));
    const auto b = mw::device_put(mw::random::normal(mw::random::key(14), {1001, side}), NamedSharding(mesh, P("x")));
    for (const auto& spec : {P("x"), P(nullptr, "x"), P()}) {
      mw::LocalArray first;
      for (int round = 0; round < 4; ++round) {
        const auto product = mw::einsum("ij,jk->ik", {a, b}, spec);
        const auto whole = mw::device_get(product).contiguous();
        if (round == 0) first = whole;
        ASSERT_EQ(std::memcmp(first.data(), whole.data(), static_cast<std::size_t>(first.nbytes())), 0) << side << ", round " << round;
        for (const auto& shard : product.addressable_shards()) {
          const auto mine = shard.data().contiguous(), same = whole.box(shard.index()).contiguous();
          ASSERT_EQ(std::memcmp(mine.data(), same.data(), static_cast<std::size_t>(mine.nbytes())), 0) << side << ", on " << shard.device().id;
        }
      }
    }
  }
}

// Large ones are one block a node; who was lent it keeps it while the memory around it is used again.
TEST(Replicas, LargeSumsAreRightOnEveryNode) {
  constexpr std::int64_t columns = 20'011;  // no rank's slice is as long as another's
  const auto all = mw::devices().size();
  for (const auto n : {all, all - 1}) {
    const auto mesh = mw::make_mesh({n}, {"x"}, {.devices = mw::devices().first(n)});
    std::vector<mw::Array> held;
    for (std::int64_t round = 0; round < 6; ++round) {
      const auto x = mw::device_put(mw::arange(2 * n * columns, mw::int64).reshape({2 * n, columns}), NamedSharding(mesh, P("x"))) + round;
      held.push_back(mw::sum(x, {0}));
    }
    for (std::int64_t round = 0; round < 6; ++round) {
      std::int64_t wrong = 0;
      for (const auto& shard : held[static_cast<std::size_t>(round)].addressable_shards()) {
        const auto values = shard.data().view<std::int64_t>();
        for (std::int64_t j = 0; j < columns; ++j) wrong += values[j] != n * (2 * n - 1) * columns + 2 * n * (j + round) ? 1 : 0;
      }
      EXPECT_EQ(wrong, 0) << "of round " << round << " on " << n << " devices";
    }
  }
}

}  // namespace

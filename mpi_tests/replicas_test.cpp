// ranks: 3 5 7
// variant: private ranks=4 MESHWISE_STORE=private
// variant: nodes2 ranks=4 MESHWISE_NODE_SIZE=2
// variant: dealt ranks=5 MESHWISE_NODES=0,1
// variant: unchecked ranks=4 MESHWISE_CHECK=off
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
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

}  // namespace

// ranks: 1 2 3 4 8
// devices_per_rank: 8 4@2
// variant: private ranks=2,4 MESHWISE_STORE=private
// variant: nodes2 ranks=4 MESHWISE_NODE_SIZE=2
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// variant: unchecked ranks=4 MESHWISE_CHECK=off
// variant: large ranks=4 MESHWISE_LARGE_FROM=64
// variant: tcp ranks=3 OMPI_MCA_btl=tcp,self MESHWISE_STORE=private
// hosts: 2x2
// timeout: 120
// What one rank alone meets inside agree(f) is everybody's error, nobody waits for what it will never do, and the next call works.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "support/random_chains.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;
using mw::testing::RandomPlacement, mw::testing::counting, mw::testing::wrong_shards;

namespace {

struct Layouts {
  mw::Mesh mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  NamedSharding rows{mesh, P("x")}, columns{mesh, P(nullptr, "x")}, everywhere{mesh, P()};
};

/// Agrees on f, in which rank `who` fails at its step `when`, of `steps`. Every rank is told in that rank's words.
template <class Step>
void fail_alone(std::int64_t who, int when, int steps, Step&& step) {
  std::string words;
  try {
    mw::agree([&] {
      for (int k = 0; k < steps; ++k) {
        if (k == when && mw::process_index() == who) throw mw::OutOfMemoryError("no room in step " + std::to_string(when));
        step(k);
      }
    });
  } catch (const mw::OutOfMemoryError& error) {
    words = error.what();
  }
  EXPECT_NE(words.find("no room in step " + std::to_string(when)), std::string::npos) << words;
  if (mw::process_index() == who) return;
  EXPECT_NE(words.find("rank " + std::to_string(who) + " failed"), std::string::npos) << words;
}

TEST(Agreement, OthersThatWaitInAReductionAreTold) {
  const Layouts on;
  const auto x = mw::device_put(mw::arange(240.0).reshape({24, 10}), on.rows);
  for (std::int64_t who = 0; who < mw::process_count(); ++who)
    for (const int when : {0, 1, 2}) {
      fail_alone(who, when, 3, [&](int) { EXPECT_EQ(mw::sum(x).item<float>(), 28680.0f); });
      EXPECT_EQ(mw::sum(x).item<float>(), 28680.0f);
    }
}

TEST(Agreement, WhatWasUnderWayIsGivenUpAndWhatWasThereIsWhole) {
  const Layouts on;
  for (const std::int64_t n : {16, 700}) {
    const auto x = mw::device_put(counting({n, n}, mw::float64), on.rows);
    const auto before = mw::device_put(x, on.columns);  // may still be under way when the agreement begins
    mw::block_until_ready(x);
    const auto live = mw::memory_stats().live;
    for (std::int64_t who = 0; who < mw::process_count(); ++who) {
      mw::Array y = x, z = x;
      fail_alone(who, 1, 3, [&](int k) {
        z = mw::device_put(y, k % 2 == 0 ? on.columns : on.everywhere);
        y = mw::device_put(z, on.rows);
      });
      ASSERT_EQ(wrong_shards(x), "") << who;
      ASSERT_EQ(wrong_shards(before), "") << who;
      ASSERT_EQ(wrong_shards(mw::device_put(x, on.everywhere)), "") << who;
    }
    mw::barrier();
    const auto now = mw::memory_stats().live;
    EXPECT_LE(now, live + before.nbytes()) << "what was given up is still held";
  }
}

TEST(Agreement, AnArrayThatNeverCameIsAnErrorWhereItIsRead) {
  if (mw::process_count() == 1) GTEST_SKIP() << "nobody else to wait for";
  const Layouts on;
  const auto x = mw::device_put(counting({1000, 1000}, mw::float64), on.rows);
  auto y = x;
  fail_alone(1, 0, 1, [&](int) { y = mw::device_put(x, on.columns); });
  // Each rank, for itself: finished there, or given up.
  if (mw::process_index() != 1 && mw::process_count() > 1) {
    try {
      EXPECT_EQ(wrong_shards(y), "");
    } catch (const mw::CollectiveError& error) {
      EXPECT_NE(std::string(error.what()).find("no room"), std::string::npos) << error.what();
    }
  }
  ASSERT_EQ(wrong_shards(mw::device_put(x, on.columns)), "");
}

// A rank that waits long asks the others what they called there: not what they called in an agreement that failed.
TEST(Agreement, OtherCallsAtThePositionsOfThoseThatFailed) {
  const Layouts on;
  const auto x = mw::device_put(counting({24, 10}, mw::float32), on.rows);
  const auto total = mw::sum(x).item<float>();
  for (const bool sums_first : {true, false}) {
    const auto call = [&](bool sum) {
      if (sum) EXPECT_EQ(mw::sum(x).item<float>(), total);
      else EXPECT_EQ(wrong_shards(mw::reshard(x, P(nullptr, "x"))), "");
    };
    fail_alone(0, 2, 3, [&](int k) { call(sums_first == (k == 0)); });
    mw::agree([&] {
      if (mw::process_index() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(700));
      mw::agree([&] { call(!sums_first); });
      mw::barrier();
      call(sums_first);
    });
  }
}

TEST(Agreement, InsideAnother) {
  const Layouts on;
  const auto x = mw::device_put(mw::arange(64.0).reshape({8, 8}), on.rows);
  const auto last = mw::process_count() - 1;
  int inner = 0;
  // A failure in the inner one is agreed there; the outer one goes on.
  mw::agree([&] {
    fail_alone(last, 1, 2, [&](int) { static_cast<void>(mw::sum(x)); });
    EXPECT_EQ(mw::sum(x).item<float>(), 2016.0f);
    ++inner;
  });
  EXPECT_EQ(inner, 1);
  // A rank that leaves the outer one takes the others out of the inner one.
  fail_alone(last, 0, 1, [&](int) {
    mw::agree([&] { static_cast<void>(mw::sum(x).item<float>()); });
    ++inner;
  });
  EXPECT_EQ(inner, 1);
  EXPECT_EQ(mw::sum(x).item<float>(), 2016.0f);
}

TEST(Agreement, AllFailAlikeAgainAndAgain) {
  const Layouts on;
  const auto x = mw::device_put(mw::arange(64.0).reshape({8, 8}), on.rows);
  for (int k = 0; k < 300; ++k) {
    std::string words;
    try {
      mw::agree([&] {
        const auto y = mw::device_put(x, on.columns);
        static_cast<void>(y + mw::ones({3}));
      });
    } catch (const mw::ShapeError& error) {
      words = error.what();
    } catch (const mw::CollectiveError& error) {  // of a rank so late that another's failure found it waiting
      words = error.what();
    }
    EXPECT_NE(words.find("shapes (8, 8) and (3,) do not broadcast"), std::string::npos) << words;
  }
  EXPECT_EQ(mw::sum(x).item<float>(), 2016.0f);
}

TEST(Agreement, AtAnyStepOfAnyChain) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomPlacement random(seed);
    const auto ndim = 1 + random.below(3);
    const auto x = mw::device_put(counting(random.shape(ndim), mw::float64), random.sharding(ndim));
    std::vector<mw::Sharding> targets;
    for (int k = 0; k < 4; ++k) targets.push_back(random.sharding(ndim));
    auto y = x;
    fail_alone(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(mw::process_count()))), static_cast<int>(random.below(4)), 4, [&](int k) {
      y = mw::device_put(y, targets[static_cast<std::size_t>(k)]);
      if (k % 2 == 1) mw::block_until_ready(mw::sum(y + y));
    });
    ASSERT_EQ(wrong_shards(x), "") << "seed " << seed;
    for (const auto& target : targets) ASSERT_EQ(wrong_shards(mw::device_put(x, target)), "") << "seed " << seed;
  }
}

}  // namespace

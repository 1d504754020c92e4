// Sequences are per ordered device list: ranks outside pass through, disjoint lists may come in any order, moves count in the pair's own
// sequence.
// ranks: 1 2 4 8
// timeout: 60
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// variant: undelayed ranks=2 MESHWISE_DELAY_SEED=0
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "support/runtime_calls.hpp"
#include "support/thread_time.hpp"

namespace {

using namespace support;
using namespace std::chrono;

TEST(Sequence, OutsidersStayAwayWhileTheOthersWork) {
  const auto n = meshwise::process_count();
  if (n < 2) GTEST_SKIP() << "needs two ranks";
  const DeviceList lower = meshwise::devices().first(n / 2);
  const auto begin = steady_clock::now();
  if (meshwise::process_index() < n / 2) {
    const auto k = n / 2;
    for (int i = 0; i < 20; ++i) EXPECT_EQ(sum(lower, "sum"), k * (k + 1) / 2);
    EXPECT_LT(steady_clock::now() - begin, milliseconds(1500));
  } else {
    std::this_thread::sleep_for(seconds(2));
    for (int i = 0; i < 20; ++i) sum(lower, "sum");
  }
}

TEST(Sequence, APassThroughIsQuick) {
  const auto n = meshwise::process_count();
  if (const auto seed = meshwise::setting("MESHWISE_DELAY_SEED"); n < 2 || (!seed.empty() && seed != "0")) GTEST_SKIP() << "needs a rank outside, and no delays";
  const DeviceList first = meshwise::devices().first(1);
  const Call call{.operation = "add", .hash = 1, .shape = &some_shape()};
  double best = 1;
  for (int round = 0; round < 7; ++round) {
    const double begin = thread_seconds();
    for (int k = 0; k < 1000; ++k) meshwise::detail::enter_call(call, {&first});
    best = std::min(best, (thread_seconds() - begin) / 1000);
  }
  EXPECT_LT(best, 5e-6);
}

TEST(Sequence, DisjointListsInAnyOrder) {
  const auto n = meshwise::process_count(), me = meshwise::process_index();
  if (n < 2 || meshwise::setting("MESHWISE_CHECK") == "lockstep") GTEST_SKIP() << "needs two ranks";
  const DeviceList lower = meshwise::devices().first(n / 2), upper = meshwise::devices().last(n - n / 2);
  for (int k = 0; k < 10; ++k) {
    if (me % 2 == 0) {
      sum(lower, "lower");
      sum(upper, "upper");
    } else {
      sum(upper, "upper");
      sum(lower, "lower");
    }
  }
}

TEST(Sequence, MovesBetweenListsThatHaveGoneDifferentWays) {
  const auto n = meshwise::process_count(), me = meshwise::process_index();
  if (n < 2) GTEST_SKIP() << "needs two ranks";
  const DeviceList a{0}, b{n - 1};
  for (int k = 0; k < 30; ++k) {
    for (int i = 0; i < k % 4; ++i) enter("only a", a);
    if (k % 3 == 0) enter("only b", b);
    const bool there = k % 2 == 0;
    const Ticket ticket = there ? enter("move", a, b) : enter("move", b, a);
    const std::int64_t from = there ? 0 : n - 1, to = there ? n - 1 : 0;
    const auto moving = move(ticket, me == from ? to : -1, me == to ? from : -1, 100 + 5000 * (k % 2), static_cast<unsigned char>(k));
    moving.wait();
    EXPECT_TRUE(me != to || moving.holds(static_cast<unsigned char>(k)));
  }
}

TEST(Sequence, TicketsOfOneListFollowOneAnother) {
  const DeviceList own{meshwise::process_index()}, again(std::vector<std::int64_t>{meshwise::process_index()});
  const Ticket first = enter("one", own), second = enter("one", again);
  EXPECT_EQ(first.list, second.list);
  EXPECT_EQ(first.sequence + 1, second.sequence);
  EXPECT_NE(first.hash, second.hash) << "the history is part of the hash";
  const auto words = [](const Ticket& t) { return "#" + std::to_string(t.sequence) + " one float32[8,16]"; };
  EXPECT_EQ(words_of(second), words(second) + " (after " + words(first) + ")");
}

TEST(Sequence, LateRanks) {
  const auto n = meshwise::devices().size();
  for (int k = 0; k < 3; ++k) {
    if (meshwise::process_index() == k % meshwise::process_count())
      std::this_thread::sleep_for(milliseconds(700));  // long enough to be asked for
    EXPECT_EQ(sum(meshwise::devices(), "sum"), n * (n + 1) / 2);
  }
}

}  // namespace

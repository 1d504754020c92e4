// What the library sends, counted at MPI's profiling layer.
// ranks: 2 4
// counters
// variant: private ranks=2,4 MESHWISE_STORE=private
// env: MESHWISE_DELAY_SEED=0
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "meshwise/runtime/memory.hpp"
#include "support/counters.hpp"
#include "support/runtime_calls.hpp"

namespace {

using namespace support;

/// On a node that shares memory nothing is a message.
bool by_messages() { return meshwise::memory_stats().store == "private"; }

TEST(Counters, EnteringCallsAndPollingMakesNoMpiCall) {
  const DeviceList world = meshwise::devices();
  meshwise::barrier();
  const Counters before = snapshot();
  for (int k = 0; k < 1000; ++k) {
    enter("add", world);
    meshwise::detail::poll();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  enter("add", world);
  EXPECT_EQ(to_string(snapshot() - before), to_string(Counters{}));
}

TEST(Counters, ASmallMoveIsOneMessage) {
  const auto me = meshwise::process_index();
  const DeviceList world = meshwise::devices();
  meshwise::barrier();
  const Counters before = snapshot_all_threads();
  const auto stats = meshwise::runtime_stats();
  const auto moving = move(enter("move", world), me == 0 ? 1 : -1, me == 1 ? 0 : -1, 1000, 5);
  moving.wait();
  const Counters used = snapshot_all_threads() - before;
  EXPECT_EQ(used.messages, by_messages() && me == 0 ? 1U : 0U) << to_string(used);
  EXPECT_EQ(used.collectives, 0U);
  EXPECT_LT(used.bytes, 1500U);
  EXPECT_EQ(meshwise::runtime_stats().bytes_sent - stats.bytes_sent, by_messages() && me == 0 ? 1000 : 0);
  meshwise::barrier();
}

TEST(Counters, ALargeMoveIsItsHeadAndItsChunks) {
  const auto me = meshwise::process_index();
  const DeviceList world = meshwise::devices();
  meshwise::barrier();
  const Counters before = snapshot_all_threads();
  const auto moving = move(enter("move", world), me == 0 ? 1 : -1, me == 1 ? 0 : -1, 10 << 20, 5);
  moving.wait();
  const Counters used = snapshot_all_threads() - before;
  EXPECT_EQ(used.messages, by_messages() && me == 0 ? 11U : 0U) << to_string(used);
  EXPECT_LT(used.bytes, (10U << 20) + 1000U);
  meshwise::barrier();
}

}  // namespace

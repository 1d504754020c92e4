// Agreements: one rank's failure becomes everybody's, of the right type, and the next call works.
// ranks: 1 2 3 4 8
// hosts: 2x2 4x1
// devices_per_rank: 8
// variant: nothread ranks=4 MESHWISE_PROGRESS_THREAD=off
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "support/runtime_calls.hpp"

namespace {

using namespace support;

template <class Thrown>
std::string agree_that_fails_on(std::int64_t rank, const std::string& words) {
  try {
    meshwise::agree([&] {
      if (meshwise::process_index() == rank) throw Thrown(words);
    });
  } catch (const meshwise::Error& error) {
    const bool here = meshwise::process_index() == rank;
    if (here) {
      EXPECT_NE(dynamic_cast<const Thrown*>(&error), nullptr);
    } else if (std::is_same_v<Thrown, meshwise::OutOfMemoryError>) {
      EXPECT_NE(dynamic_cast<const meshwise::OutOfMemoryError*>(&error), nullptr);
    } else {
      EXPECT_NE(dynamic_cast<const meshwise::CollectiveError*>(&error), nullptr);
    }
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Agree, OneRanksFailureIsEverybodys) {
  for (std::int64_t rank = 0; rank < meshwise::process_count(); ++rank) {
    for (const std::size_t length : {5UL, 2000UL}) {
      const std::string words(length, 'w');
      const std::string wanted = meshwise::process_index() == rank ? words : "rank " + std::to_string(rank) + " failed: " + words;
      EXPECT_EQ(agree_that_fails_on<meshwise::CheckpointError>(rank, words), wanted);
      EXPECT_EQ(agree_that_fails_on<meshwise::OutOfMemoryError>(rank, words), wanted);
      EXPECT_NO_THROW(meshwise::agree([] {}));
    }
  }
  const auto n = meshwise::devices().size();
  EXPECT_EQ(sum(meshwise::devices(), "sum"), n * (n + 1) / 2);
}

TEST(Agree, SeveralFailures) {
  EXPECT_THROW(meshwise::agree([] { throw meshwise::DtypeError("everywhere"); }), meshwise::DtypeError);
  if (meshwise::process_count() > 2 && meshwise::process_index() == 0) {
    EXPECT_THROW(meshwise::agree([] {}), meshwise::CollectiveError);
  } else {
    EXPECT_THROW(meshwise::agree([] { throw 5; }), int);
    if (meshwise::process_count() <= 2) return;
  }
}

TEST(Agree, LocalFailuresInsideAreRecoverable) {
  bool threw = false;
  try {
    meshwise::agree([] {
      meshwise::detail::run_local_part("reading", [] {
        if (meshwise::process_index() == meshwise::process_count() - 1) throw meshwise::CheckpointError("no such file");
      });
    });
  } catch (const meshwise::Error&) {
    threw = true;
  }
  EXPECT_TRUE(threw);
  EXPECT_NO_THROW(meshwise::barrier());
}

TEST(Barrier, WaitsForTheLast) {
  using namespace std::chrono;
  meshwise::barrier();
  const auto begin = steady_clock::now();
  if (meshwise::process_index() == meshwise::process_count() - 1) std::this_thread::sleep_for(milliseconds(150));
  meshwise::barrier();
  EXPECT_GE(steady_clock::now() - begin, milliseconds(meshwise::process_count() > 1 ? 100 : 0));
}

}  // namespace

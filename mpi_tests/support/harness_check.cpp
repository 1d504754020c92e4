// The harness under failures: run on 3 ranks as a job that has to fail in exactly this way.
// ranks: 3
// exit: nonzero
// within: 20
// prints: \[rank 1/3\] .*harness_check.cpp:[0-9]+: Failure
// prints: \[rank 0/3\] .*unknown file
// prints: left the test Harness.OneRankLeavesEarly early
// prints: \[  FAILED  \] Harness.OneRankLeavesEarly
// prints: \[       OK \] Harness.TheNextStartsInStep
// prints: \[  FAILED  \] Harness.OneRankFailsAndGoesOn
// prints: \[       OK \] Harness.ManyCallsLater
// prints: \[  FAILED  \] Harness.OneRankThrows
// prints: some ranks skipped this test and others did not
// prints: \[  FAILED  \] Harness.OneRankSkips
// prints: \[  PASSED  \] 3 tests
// prints: 4 FAILED TESTS
// never: MPI_ABORT
#include <gtest/gtest.h>

#include <meshwise/runtime/environment.hpp>
#include <stdexcept>

namespace {

TEST(Harness, OneRankLeavesEarly) {
  ASSERT_NE(meshwise::process_index(), 1);

  meshwise::barrier();
}

TEST(Harness, TheNextStartsInStep) { meshwise::barrier(); }

TEST(Harness, OneRankFailsAndGoesOn) {
  EXPECT_NE(meshwise::process_index(), 2);

  meshwise::barrier();
}

TEST(Harness, ManyCallsLater) {
  for (int i = 0; i < 100; ++i) meshwise::barrier();
}

TEST(Harness, OneRankThrows) {
  if (meshwise::process_index() == 2) throw std::runtime_error("thrown by rank 2 alone");
  for (int i = 0; i < 10; ++i) meshwise::barrier();
}

TEST(Harness, OneRankSkips) {
  if (meshwise::process_index() == 1) GTEST_SKIP() << "rank 1 alone";
}

TEST(Harness, AndTheLastOne) { meshwise::barrier(); }

}  // namespace

// What the harness asks of the library; src/runtime/testing_hooks.cpp answers.
#pragma once

namespace meshwise::detail {

// Local. This rank left the current test early, with these words: calls of other ranks that wait for it throw.
void test_leave_early(const char* words);

// Collective over all processes, called when all of them stand at the end of a test that some rank left
// early: forgets sticky failures, drops what is still under way and starts all sequences anew.
void test_start_in_step();

// Local. One poll of the library's transfers, for ranks that wait in the harness while others still work.
void test_progress();

}  // namespace meshwise::detail

// What the harness asks of the library. The functions are weak: a build of the library that does not
// have them still runs the tests, but a test that one rank leaves early then ends the whole program.
#pragma once

namespace meshwise::detail {

// Local. This rank left the current test early, with these words: calls of other ranks that wait for it throw.
[[gnu::weak]] void test_leave_early(const char* words);

// Collective over all processes, called when all of them stand at the end of a test that some rank left
// early: forgets sticky failures, drops what is still under way and starts all sequences anew.
[[gnu::weak]] void test_start_in_step();

// Local. One poll of the library's transfers, for ranks that wait in the harness while others still work.
[[gnu::weak]] void test_progress();

}  // namespace meshwise::detail

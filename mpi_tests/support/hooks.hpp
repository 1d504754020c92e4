// What the harness asks of the library; src/runtime/testing_hooks.cpp answers.
#pragma once

#include <cstdint>

namespace meshwise::detail {

// Local. This rank left the current test early, with these words: calls of other ranks that wait for it throw.
void test_leave_early(const char* words);

// Collective over all processes, called when all of them stand at the end of a test that some rank left
// early: forgets sticky failures, drops what is still under way and starts all sequences anew.
void test_start_in_step();

// Local. One poll of the library's transfers, for ranks that wait in the harness while others still work.
void test_progress();

// Local. How often this rank has told another what it sends it: heads of messages, and letters on the node.
std::int64_t test_heads_sent();

// Local. Payload that this rank packed to send, or received to unpack, since start.
std::int64_t test_staged_bytes();

// Local. From now on blocks beyond so many bytes are an OutOfMemoryError, as with MESHWISE_MEMORY_LIMIT; 0: none.
void test_limit_memory(std::int64_t bytes);

}  // namespace meshwise::detail

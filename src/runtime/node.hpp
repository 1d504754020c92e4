#pragma once
// The ranks of this node: a page they share, by which they learn of each other's death, and the watchdog that looks at it.

namespace meshwise::detail {

struct Runtime;

/// Collective over the world, at start. Finds the nodes and, where a node's ranks can share memory, makes the page and the arena.
void begin_node(Runtime& r, bool with_arena);
/// Local. An orderly end: from here on a vanished process is no death.
void leave_node();
/// Local. Claims the right to print a failure's words: true for the first rank of the node that asks. The others return when it has
/// printed.
bool claim_words();
void words_are_out();

/// Local. The thread that reports long waits and deaths; it calls no MPI.
void start_watchdog();
void stop_watchdog();

}  // namespace meshwise::detail

// An error decided by metadata is thrown on all ranks, and nobody catches it: its words are said once, not once a rank.
// ranks: 1 2 8
// devices_per_rank: 8
// exit: nonzero
// within: 5
// once: the words of all ranks
// never: terminate called
#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  throw meshwise::PlacementError("the words of all ranks");
}

// The same with a payload too large to leave at once: its sender's goodbye finds out by asking.
// ranks: 2
// exit: nonzero
// within: 15
// once: rank 0 waits in #0 move float32[8,16] for rank 1, which has made this call and ended its Environment
#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto ticket = support::enter("move", meshwise::devices());
  if (meshwise::process_index() == 0) support::move(ticket, 1, -1, 20'000'000, 0);
}

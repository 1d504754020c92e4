// A rank sends data that its peer never asks for, and both end in peace: the divergence is found at the goodbye.
// ranks: 2
// exit: nonzero
// within: 5
// once: rank 0 sent data that rank 1 never asked for
#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto ticket = support::enter("move", meshwise::devices());
  if (meshwise::process_index() == 0) support::move(ticket, 1, -1, 100, 0).wait();
}

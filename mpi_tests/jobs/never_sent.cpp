// A rank returns from main with a receive under way whose sender never made the call.
// ranks: 2
// exit: nonzero
// within: 5
// prints: rank 0 ended its Environment while rank 1 is in #0 move float32.8,16., which needs it
#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  if (meshwise::process_index() == 1) support::move(support::enter("move", meshwise::devices()), -1, 0, 100, 0);
}

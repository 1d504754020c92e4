// One rank returns from main while another waits for its data.
// ranks: 2 4
// exit: nonzero
// within: 5
// prints: rank 1 ended its Environment while rank 0 is in #0 move float32.8,16., which needs it
#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  if (meshwise::process_index() != 0) return 0;
  support::move(support::enter("move", meshwise::devices()), -1, 1, 100, 0).wait();
}

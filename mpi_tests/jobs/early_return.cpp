// One rank returns from main while others still need it.
// ranks: 2 4 8
// exit: nonzero
// within: 5
// prints: rank 1 ended its Environment while rank [0-9]+ is in #1 sum float32.8,16..*, which needs it
// never: terminate called
#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  meshwise::barrier();
  if (meshwise::process_index() == 1) return 0;
  support::sum(meshwise::devices(), "sum");
}

// std::exit(3) on one rank while others wait for it.
// ranks: 2 4
// exit: nonzero
// within: 5
#include <cstdlib>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  support::sum(meshwise::devices(), "sum");
  if (meshwise::process_index() == 1) std::exit(3);
  support::sum(meshwise::devices(), "sum");
}

// U-118: std::exit(0) on every rank while the Environment lives.
// ranks: 1 2 4
// within: 5
// never: MPI_ABORT|without calling|terminate called
#include <cstdlib>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  support::sum(meshwise::devices(), "sum");
  std::exit(0);
}

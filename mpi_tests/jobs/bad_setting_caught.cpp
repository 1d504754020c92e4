// The same, caught by the program on every rank, which then ends in peace.
// ranks: 1 4
// env: MESHWISE_CHECK=never
// prints: off, ledger or lockstep
// never: MPI_ABORT|without calling
#include <cstdio>
#include <optional>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  std::optional<meshwise::Environment> env;
  try {
    env.emplace(argc, argv);
  } catch (const meshwise::Error& error) {
    std::puts(error.what());
    return 0;
  }
  return 1;
}

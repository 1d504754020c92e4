// The Environment is unwound by an exception that main catches and forgets: the other ranks are told, and the job still fails.
// ranks: 2 4
// exit: nonzero
// within: 5
// prints: rank 1 left its Environment by an exception, after #0 barrier
#include <cstdio>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  try {
    const meshwise::Environment env(argc, argv);
    meshwise::barrier();
    if (meshwise::process_index() == 1) throw meshwise::ShapeError("forgotten");
    meshwise::barrier();
  } catch (const meshwise::ShapeError&) {
    return 0;
  }
}

// Two ranks diverge into reductions of equal size and shape.
// ranks: 2 3 8
// within: 10
// prints: all ranks caught it
#include <cstdio>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto me = meshwise::process_index();
  bool caught = false;
  try {
    support::sum(meshwise::devices(), me == 1 ? "max" : "sum");
  } catch (const meshwise::MismatchError& error) {
    const std::string words = error.what();
    caught = words.find("rank 0 called #0 sum float32[8,16], rank 1 called #0 max float32[8,16]") != std::string::npos;
    if (!caught) std::fprintf(stderr, "%s\n", words.c_str());
  }
  if (!caught) return 1;
  if (me == 0) std::puts("all ranks caught it");
}

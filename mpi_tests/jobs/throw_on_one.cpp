// A rank that throws out of main while the others wait for it: the job ends with its words, said once.
// ranks: 2 4 8
// hosts: 2x2 4x1
// exit: nonzero
// within: 5
// once: the words of the last rank
// never: terminate called
// leaves: nothing
#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  meshwise::barrier();
  if (meshwise::process_index() == meshwise::process_count() - 1) throw meshwise::ShapeError("the words of the last rank");
  meshwise::barrier();
}

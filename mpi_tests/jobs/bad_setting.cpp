// A setting that is none: one clear error, said once, on all ranks.
// ranks: 1 4
// env: MESHWISE_CHUNK_BYTES=many
// exit: nonzero
// within: 5
// once: MESHWISE_CHUNK_BYTES=many is not a setting meshwise knows: it may be a whole number of at least 1
#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  return 0;
}

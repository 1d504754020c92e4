// The same on four nodes (pretended): said once a job, not once a node.
// ranks: 8
// env: MESHWISE_NODE_SIZE=2
// exit: nonzero
// within: 5
// once: the words of all nodes
// never: terminate called
#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  throw meshwise::PlacementError("the words of all nodes");
}

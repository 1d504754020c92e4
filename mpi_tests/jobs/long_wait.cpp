// A wait that lasts is reported, and then goes on: a healthy long computation on another rank must live.
// ranks: 2
// env: MESHWISE_REPORT_AFTER=1
// within: 10
// prints: meshwise: rank 0 has waited [0-9.]+ s in #0 sum
// prints: in #0 sum float32.8,16. for rank 1 .outside the library; last call no call yet
#include <unistd.h>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  if (meshwise::process_index() == 1) sleep(3);
  return support::sum(meshwise::devices(), "sum") == 3 ? 0 : 1;
}

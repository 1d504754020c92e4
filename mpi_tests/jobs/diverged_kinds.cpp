// Two ranks stand in calls of different kinds, one in a reduction and one waiting for data: neither ever gets a message of the other's,
// and both are told.
// ranks: 2 4
// within: 10
// prints: all ranks caught it
#include <cstdio>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto me = meshwise::process_index();
  const meshwise::DeviceList world = meshwise::devices();
  bool caught = false;
  try {
    if (me == 1) {
      support::move(support::enter("reshard", world), -1, 0, 64, 0).wait();
    } else {
      support::sum(world, "sum");
    }
  } catch (const meshwise::MismatchError& error) {
    const std::string words = error.what();
    caught = words.find("rank 1 called #0 reshard float32[8,16]") != std::string::npos &&
             words.find("called #0 sum float32[8,16]") != std::string::npos;
    if (!caught) std::fprintf(stderr, "%s\n", words.c_str());
  }
  if (!caught) return 1;
  if (me == 0) std::puts("all ranks caught it");
}

// A rank that made one more call without any message is found out by the next message: a call's hash has its list's history in it.
// ranks: 2
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
    support::enter("sin", world);
    if (me == 1) support::enter("exp", world);
    support::move(support::enter("reshard", world), 1 - me, 1 - me, 64, 0).wait();
  } catch (const meshwise::MismatchError& error) {
    caught = std::string(error.what())
                 .find(
                     "rank 0 called #1 reshard float32[8,16] (after #0 sin float32[8,16]), rank 1 called #2 reshard float32[8,16] (after "
                     "#1 exp") != std::string::npos;
    if (!caught) std::fprintf(stderr, "%s\n", error.what());
  }
  if (!caught) return 1;
  if (me == 0) std::puts("all ranks caught it");
}

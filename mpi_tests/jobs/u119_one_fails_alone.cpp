// U-119: rank 1 alone has no memory in the middle of a call. It says so, and every rank's later calls throw with its words.
// ranks: 2 4
// hosts: 2x2 4x1
// env: MESHWISE_FAIL_ALLOCATION=1:2
// within: 10
// prints: all ranks caught it
#include <cstdio>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto me = meshwise::process_index();
  const meshwise::DeviceList world = meshwise::devices();
  bool own = false, later = false;
  try {
    support::enter("add", world);
    std::shared_ptr<meshwise::detail::Block> a, b;
    meshwise::detail::run_local_part("add", [&] {
      a = meshwise::detail::block_store().allocate(64);
      b = meshwise::detail::block_store().allocate(64);
    });
  } catch (const meshwise::OutOfMemoryError&) {
    own = true;
  }
  if (own != (me == 1)) return 1;
  for (int k = 0; k < 2; ++k) {
    later = false;
    try {
      support::sum(world, "sum");
    } catch (const meshwise::CollectiveError& error) {
      later = std::string(error.what()).find("rank 1 failed in add: ") == 0;
    }
    if (!later) return 2;
  }
  if (me == 0) std::puts("all ranks caught it");
}

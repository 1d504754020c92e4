// U-118: static objects and handles that outlive the Environment and MPI.
// ranks: 1 2
// never: MPI_ABORT|after MPI_FINALIZE
#include "support/runtime_calls.hpp"

namespace {
struct Keeper {
  support::Moving moving;
  meshwise::DeviceList list;
  std::shared_ptr<meshwise::detail::Block> large;
  ~Keeper() {
    large.reset();
    if (moving.transfer && !moving.transfer->done()) std::abort();
  }
};
Keeper keeper;
}  // namespace

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  keeper.list = meshwise::devices();
  keeper.large = meshwise::detail::block_store().allocate(8 << 20);
  const auto n = meshwise::process_count(), me = meshwise::process_index();
  keeper.moving = support::move(support::enter("move", keeper.list), n > 1 ? 1 - me : -1, n > 1 ? 1 - me : -1, 5'000'000, 3);
  return 0;  // with the transfer under way: the goodbye finishes it
}

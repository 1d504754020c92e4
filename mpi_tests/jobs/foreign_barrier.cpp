// A chunked transfer is under way while its sender sits in a barrier of MPI's that the receiver enters only once it has everything.
// Without a thread that
// serves transfers this program never ends.
// ranks: 2 4
// hosts: 2x2 4x1
// within: 10
#include <meshwise/runtime/interop_mpi.hpp>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto me = meshwise::process_index();
  bool right = true;
  for (int k = 0; k < 3; ++k) {
    const auto moving = support::move(support::enter("move", meshwise::devices()), me == 0 ? 1 : -1, me == 1 ? 0 : -1, 64 << 20,
                                      static_cast<unsigned char>(k));
    if (me == 1) {
      moving.wait();
      right = right && moving.holds(static_cast<unsigned char>(k));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return right ? 0 : 1;
}

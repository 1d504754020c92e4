// MPI initialised by the program without support for threads: the library then has no progress thread, and quiesce comes before blocking
// calls of MPI's.
// ranks: 1 2 4
// within: 10
#include <meshwise/runtime/interop_mpi.hpp>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  int level = 0, wrong = 0, worst = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  {
    const meshwise::Environment env(argc, argv);
    const auto n = meshwise::process_count(), me = meshwise::process_index();
    for (int k = 0; k < 5; ++k) {
      const auto next = n > 1 ? (me + 1) % n : -1, last = n > 1 ? (me + n - 1) % n : -1;
      const auto moving =
          support::move(support::enter("move", meshwise::devices()), next, last, 20 << 20, static_cast<unsigned char>(me + k));
      meshwise::quiesce();
      MPI_Barrier(MPI_COMM_WORLD);
      if (n > 1 && !moving.holds(static_cast<unsigned char>(last + k))) wrong = 1;
      if (support::sum(meshwise::devices(), "sum") != n * (n + 1) / 2) wrong = 2;
    }
  }
  MPI_Allreduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst;
}

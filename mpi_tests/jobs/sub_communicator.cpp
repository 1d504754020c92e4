// An Environment on a communicator smaller than the world, its ranks in another order: the library's world is that communicator.
// ranks: 3 4 8
#include <meshwise/runtime/interop_mpi.hpp>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  int level = 0, rank = 0, size = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const bool inside = rank != 0;
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, inside ? 1 : MPI_UNDEFINED, -rank, &some);
  int wrong = 0;
  if (inside) {
    const meshwise::Environment env(meshwise::communicator(some));
    const int n = size - 1;
    if (meshwise::process_count() != n || meshwise::process_index() != size - 1 - rank) wrong = 1;
    const auto me = meshwise::process_index();
    const auto moving = support::move(support::enter("move", meshwise::devices()), n > 1 ? (me + 1) % n : -1, n > 1 ? (me + n - 1) % n : -1,
                                      100'000, static_cast<unsigned char>(me + 1));
    moving.wait();
    if (n > 1 && !moving.holds(static_cast<unsigned char>((me + n - 1) % n + 1))) wrong = 2;
    if (support::sum(meshwise::devices(), "sum") != n * (n + 1) / 2) wrong = 3;
  }
  if (inside) {
    int result = 0;
    if (MPI_Comm_compare(some, some, &result) != MPI_SUCCESS || result != MPI_IDENT) wrong = 4;  // it is still the program's
    MPI_Comm_free(&some);
  }
  int worst = 0;
  MPI_Allreduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst;
}

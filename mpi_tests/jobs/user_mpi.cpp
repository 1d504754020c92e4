// MPI initialised by the program: the library neither finalizes it nor keeps it from being used afterwards, and user messages of any tag
// go their own way.
// ranks: 1 2 4
#include <meshwise/runtime/interop_mpi.hpp>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  int level = 0, rank = 0, size = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int got = 0;
  {
    const meshwise::Environment env(argc, argv);
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int tag = 0; tag < 10; ++tag) {  // the library's own tags among them
      MPI_Request request;
      int value = 100 * rank + tag, other = -1;
      MPI_Irecv(&other, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
      const auto moving = support::move(support::enter("move", meshwise::devices()), size > 1 ? next : -1, size > 1 ? last : -1, 2'000'000,
                                        static_cast<unsigned char>(rank + 1));
      MPI_Send(&value, 1, MPI_INT, next, tag, MPI_COMM_WORLD);
      moving.wait();
      if (size > 1 && !moving.holds(static_cast<unsigned char>(last + 1))) return 1;
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (other != 100 * last + tag) return 2;
      if (support::sum(meshwise::devices(), "sum") != size * (size + 1) / 2) return 3;
    }
  }
  int finalized = 1;
  MPI_Finalized(&finalized);
  if (finalized) return 4;
  const int one = 1;
  MPI_Allreduce(&one, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return got == size ? 0 : 5;
}

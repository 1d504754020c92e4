// Rows to columns of 512 MiB: a new result each time, against the roofline, against what MPI alone does, and against a reused result.
// suite: redistribution
// ranks: 2 4 8
#include "support/mpi_peers.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto side = bench::side_of(bench::bytes_wanted(argc, argv));
  const bench::Problem problem(side, side);
  bench::MpiPeers mpi(problem);
  const auto result = [&] { return mpi.result(); };
  bench::compete(
      "redistribution", problem, bench::near_roofline,
      {{"MPI_Alltoallw + subarrays", 4, [&] { mpi.alltoallw(); }, result}, {"pack + MPI_Isend", 3, [&] { mpi.pack_isend(); }, result},
       {"pack + MPI_Alltoallv", 3, [&] { mpi.pack_alltoallv(); }, result}});
}

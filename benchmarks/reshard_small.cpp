// Rows to columns of 64 x 64 float64 (32 KiB): what a call costs that has little to move, against pack + MPI_Alltoallv.
// suite: redistribution
// ranks: 2
#include "support/mpi_peers.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  constexpr int calls = 2000;
  const bench::Problem problem(64, 64);
  bench::MpiPeers mpi(problem);
  mpi.pack_alltoallv();
  problem.check(mpi.result(), "pack + MPI_Alltoallv");
  bench::Ours ours(problem);
  bench::Rounds rounds;
  const auto us = rounds.add([&] { ours.fresh(); }, {}, calls);
  const auto alltoallv = rounds.add([&] { mpi.pack_alltoallv(); }, {}, calls);
  rounds.run(9);
  bench::print_row(rounds, "reshard_small", problem.name, problem.bytes, "pack + MPI_Alltoallv", alltoallv, us, 10);
}

// Rows to columns, a round at a time as standard input asks for it: our side where the peer is another job (Python's, or ours under other
// settings of MPI). benchmarks/peers/rounds.py drives both, one after the other in every round.
// ranks: none
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "support/rows_to_columns.hpp"

namespace {

/// Whether another round is wanted. The ranks sleep meanwhile: the peer has the machine.
bool asked() {
  int go = 0;
  if (std::string line; meshwise::process_index() == 0) go = std::getline(std::cin, line) && line.starts_with("go") ? 1 : 0;
  MPI_Request request;
  MPI_Ibcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) usleep(500);
  return go == 1;
}

}  // namespace

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto side = bench::side_of(bench::bytes_wanted(argc, argv));
  const bench::Problem problem(side, side);
  bench::Ours ours(problem);
  const bench::Roofline roofline(problem.bytes / problem.ranks);
  ours.fresh();
  roofline();
  meshwise::print("@ ready {} {}\n", side, side);
  std::fflush(stdout);
  while (asked()) {
    const double us = bench::span_of([&] { ours.fresh(); }), nt = bench::span_of([&] { roofline(); });
    meshwise::print("@ {:.9f} {:.9f}\n", us, nt);
    std::fflush(stdout);
  }
}

// Rows to columns, a round at a time as standard input asks for it: our side where the peer is another job (Python's, or ours under other
// settings of MPI). benchmarks/peers/rounds.py drives both, one after the other in every round.
// ranks: none
#include <cstdio>

#include "support/rows_to_columns.hpp"
#include "support/worker.hpp"

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
  while (bench::asked()) {
    const double us = bench::span_of([&] { ours.fresh(); }), nt = bench::span_of([&] { roofline(); });
    meshwise::print("@ {:.9f} {:.9f}\n", us, nt);
    std::fflush(stdout);
  }
}

// Rows to columns of an (N, 16) array of 512 MiB: 64 bytes from place to place on 2 ranks, 32 on 4, against the roofline.
// suite: redistribution
// ranks: 2 4
#include "support/rows_to_columns.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const bench::Problem problem(bench::bytes_wanted(argc, argv) / 8 / 16, 16);
  bench::Ours ours(problem);
  const bench::Roofline roofline(problem.bytes / problem.ranks);
  bench::Rounds rounds;
  const auto fresh = rounds.add([&] { ours.fresh(); });
  const auto nt = rounds.add([&] { roofline(); });
  rounds.run(9);
  bench::print_row(rounds, "reshard_short", fmt::format("{}, runs of {} B", problem.name, problem.my_columns * 8), problem.bytes, "nt", nt,
                   fresh, problem.ranks == 2 ? 0.75 : 0.70);
}

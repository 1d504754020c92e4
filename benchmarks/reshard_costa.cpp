// Rows to columns of 512 MiB against COSTA.
// suite: redistribution
// ranks: 2 4 8
// needs: COSTA
#include "support/rows_to_columns.hpp"

// After MPI and ours: its headers are not compiled with our warnings.
#include <costa/grid2grid/transform.hpp>
#include <costa/layout.hpp>

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto side = static_cast<int>(bench::side_of(bench::bytes_wanted(argc, argv)));
  const bench::Problem problem(side, side);
  auto source = problem.source(), target = problem.target();
  const int p = static_cast<int>(problem.ranks), me = static_cast<int>(problem.rank), share = side / p;
  std::vector<int> whole{0, side}, parts, owners;
  for (int k = 0; k <= p; ++k) parts.push_back(k * share);
  for (int k = 0; k < p; ++k) owners.push_back(k);
  costa::block_t have{source.data(), side, me, 0}, want{target.data(), share, 0, me};
  auto from = costa::custom_layout<double>(p, 1, parts.data(), whole.data(), owners.data(), 1, &have, 'R');
  auto to = costa::custom_layout<double>(1, p, whole.data(), parts.data(), owners.data(), 1, &want, 'R');
  const auto run = [&] { costa::transform<double>(from, to, MPI_COMM_WORLD); };
  bench::compete("reshard_costa", problem, {}, {{"COSTA", 5, run, [&] { return target.data(); }}});
}

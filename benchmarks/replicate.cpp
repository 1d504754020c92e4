// P("x") to P() of 256 MiB: every rank gets the whole array, against MPI_Allgather.
// suite: redistribution
// ranks: 2 4
#include "support/rows_to_columns.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto side = bench::side_of(bench::bytes_wanted(argc, argv, 256));
  const bench::Problem problem(side, side);
  const auto mesh = mw::make_mesh({problem.ranks}, {"x"});
  const auto x =
      mw::device_put(mw::arange(static_cast<double>(side * side), mw::float64).reshape({side, side}), mw::NamedSharding(mesh, mw::P("x")));
  const mw::NamedSharding everywhere(mesh, mw::P());
  mw::Array whole;
  const auto ours = [&] {
    auto next = mw::device_put(x, everywhere);
    mw::block_until_ready(next);
    whole = std::move(next);
  };
  const auto mine = problem.source();
  std::vector<double> gathered(static_cast<std::size_t>(side * side), -1.0);
  const auto count = static_cast<int>(mine.size());
  const auto allgather = [&] { MPI_Allgather(mine.data(), count, MPI_DOUBLE, gathered.data(), count, MPI_DOUBLE, MPI_COMM_WORLD); };
  ours();
  allgather();
  const auto here = whole.addressable_data(0).contiguous();
  const auto* values = here.view<double>().data();
  for (std::size_t k = 0; k < gathered.size(); ++k)
    if (gathered[k] != static_cast<double>(k) || values[k] != gathered[k]) throw mw::Error("a gathered value is wrong");
  const bench::Roofline roofline(problem.bytes);
  bench::Rounds rounds;
  const auto us = rounds.add(ours), peer = rounds.add(allgather), nt = rounds.add([&] { roofline(); });
  rounds.run(7);
  const auto name = fmt::format("{0} x {0} float64, P('x') to P()", side);
  bench::print_row(rounds, "replicate", name, problem.bytes, "MPI_Allgather", peer, us,
                   problem.ranks == 4 ? std::optional(6.0) : std::nullopt);
  bench::print_row(rounds, "replicate", name, problem.bytes, "nt, each rank the whole", nt, us, {});
}

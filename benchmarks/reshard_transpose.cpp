// Transposed and split anew in one pass: x[rows split] to x.T[rows split] of 200 MiB, against the roofline.
// suite: redistribution
// ranks: 2 4 8
#include "support/rows_to_columns.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto side = bench::side_of(bench::bytes_wanted(argc, argv, 200));
  const bench::Problem problem(side, side);
  const auto mesh = mw::make_mesh({problem.ranks}, {"x"});
  const mw::NamedSharding rows(mesh, mw::P("x"));
  const auto x = mw::device_put(mw::arange(static_cast<double>(side * side), mw::float64).reshape({side, side}), rows);
  mw::Array y;
  const auto ours = [&] {
    auto next = mw::device_put(x.T(), rows);
    mw::block_until_ready(next);
    y = std::move(next);
  };
  ours();
  const auto mine = y.addressable_data(0).contiguous();
  const auto* values = mine.view<double>().data();
  for (std::int64_t i = 0; i < problem.my_rows; ++i)
    for (std::int64_t j = 0; j < side; ++j)
      if (values[i * side + j] != static_cast<double>(j * side + problem.rank * problem.my_rows + i))
        throw mw::Error("a transposed value is wrong");
  const bench::Roofline roofline(problem.bytes / problem.ranks);
  bench::Rounds rounds;
  const auto us = rounds.add(ours), nt = rounds.add([&] { roofline(); });
  rounds.run(9);
  bench::print_row(rounds, "reshard_transpose", fmt::format("{0} x {0} float64, transposed and split anew", side), problem.bytes, "nt", nt,
                   us, 0.65);
}

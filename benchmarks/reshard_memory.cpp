// What rows to columns takes at its peak, over source and result together: physical memory behind blocks and pool, of all ranks.
// suite: redistribution
// ranks: 2 4
#include "support/rows_to_columns.hpp"

namespace mw = meshwise;

namespace {

double sum_over_ranks(double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

void report(const std::string& what, std::int64_t bytes, double goal) {
  const auto peak = sum_over_ranks(static_cast<double>(mw::memory_stats().physical_peak));
  bench::Row row{"reshard_memory", what, "source + result", bytes, 0, 0, peak / (2 * static_cast<double>(bytes)), goal, false};
  row.holds = row.ratio <= goal;
  bench::print(row);
}

}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto side = bench::side_of(bench::bytes_wanted(argc, argv));
  const auto mesh = mw::make_mesh({mw::process_count()}, {"x"});
  const mw::NamedSharding rows(mesh, mw::P("x")), columns(mesh, mw::P(mw::none, "x"));
  const auto bytes = side * side * 8;
  const auto source = [&] { return mw::device_put(mw::arange(static_cast<double>(side * side), mw::float64).reshape({side, side}), rows); };
  // The high-water mark only rises: the lower one first.
  mw::block_until_ready(mw::device_put(source(), columns, {.donate = true}));
  report("peak with donate", bytes, 0.6);
  mw::trim();
  MPI_Barrier(MPI_COMM_WORLD);
  const auto x = source();
  const auto y = mw::device_put(x, columns);
  mw::block_until_ready(y);
  report("peak", bytes, 1.02);
  return 0;
}

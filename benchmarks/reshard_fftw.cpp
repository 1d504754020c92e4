// Rows to columns of 512 MiB against FFTW's transposition planned with MEASURE and left transposed, which is the same movement.
// suite: redistribution
// ranks: 2 4 8
// needs: FFTW
#include <fftw3-mpi.h>

#include "support/rows_to_columns.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto side = bench::side_of(bench::bytes_wanted(argc, argv));
  const bench::Problem problem(side, side);
  fftw_mpi_init();
  auto source = problem.target();
  auto target = problem.target();
  const auto plan = fftw_mpi_plan_many_transpose(side, side, 1, problem.my_rows, problem.my_columns, source.data(), target.data(),
                                                 MPI_COMM_WORLD, FFTW_MPI_TRANSPOSED_OUT | FFTW_MEASURE);
  if (plan == nullptr) throw meshwise::Error("FFTW made no plan");
  const auto values = problem.source();
  std::copy(values.begin(), values.end(), source.begin());  // measuring has used the buffers, whose places the plan knows
  fftw_execute(plan);
  if (source != values) throw meshwise::Error("FFTW has written into its source");
  bench::compete("reshard_fftw", problem, {}, {{"FFTW-MPI", 15, [&] { fftw_execute(plan); }, [&] { return target.data(); }}}, 5);
  fftw_destroy_plan(plan);
}

// Rows to columns of 512 MiB against ScaLAPACK's pdgemr2d.
// suite: redistribution
// ranks: 2 4 8
// needs: ScaLAPACK
#include <array>

#include "support/rows_to_columns.hpp"

extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);
void descinit_(int* desc, const int* m, const int* n, const int* mb, const int* nb, const int* row, const int* column, const int* context,
               const int* lld, int* info);
void pdgemr2d_(const int* m, const int* n, const double* a, const int* ia, const int* ja, const int* desc_a, double* b, const int* ib,
               const int* jb, const int* desc_b, const int* context);
}

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto side = static_cast<int>(bench::side_of(bench::bytes_wanted(argc, argv)));
  const bench::Problem problem(side, side);
  const auto source = problem.source();
  auto target = problem.target();
  // It counts columns first: our row blocks are its column blocks of the transposed matrix.
  const int p = static_cast<int>(problem.ranks), share = side / p, zero = 0, one = 1;
  int across = 0, down = 0, info = 0;
  Cblacs_get(-1, 0, &across);
  Cblacs_gridinit(&across, "R", 1, p);
  Cblacs_get(-1, 0, &down);
  Cblacs_gridinit(&down, "R", p, 1);
  std::array<int, 9> from{}, to{};
  descinit_(from.data(), &side, &side, &side, &share, &zero, &zero, &across, &side, &info);
  descinit_(to.data(), &side, &side, &share, &side, &zero, &zero, &down, &share, &info);
  const auto run = [&] { pdgemr2d_(&side, &side, source.data(), &one, &one, from.data(), target.data(), &one, &one, to.data(), &across); };
  bench::compete("reshard_scalapack", problem, {}, {{"ScaLAPACK pdgemr2d", 15, run, [&] { return target.data(); }}}, 5);
  Cblacs_gridexit(down);
  Cblacs_gridexit(across);
}

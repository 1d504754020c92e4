// A product of matrices in 2-d blocks against ScaLAPACK's psgemm, with the best of its block sizes.
// suite: operations
// ranks: 2 4
// needs: ScaLAPACK
#include <cblas.h>

#include <array>

#include "support/product.hpp"

extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
void descinit_(int* desc, const int* m, const int* n, const int* mb, const int* nb, const int* row, const int* column, const int* context,
               const int* lld, int* info);
void psgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const float* alpha, const float* a, const int* ia,
             const int* ja, const int* desc_a, const float* b, const int* ib, const int* jb, const int* desc_b, const float* beta, float* c,
             const int* ic, const int* jc, const int* desc_c);

// ScaLAPACK asks this how wide the panels shall be that it sends round, and its own answer is `stock`: far from its best on one machine.
constexpr int stock = 32;
int panel = stock;
int pilaenv_(const int* /*context*/, const char* /*precision*/) { return panel; }
}

namespace {

/// Square blocks of `block` rows and columns, dealt out in turn over the grid; a rank's are one matrix in its memory, columns first.
class PsGemm {
 public:
  PsGemm(const bench::Product& problem, const bench::Grid& grid, int context, int block)
      : p_(problem), side_(static_cast<int>(p_.side)), block_(block) {
    Cblacs_gridinfo(context, &grid_rows_, &grid_columns_, &grid_row_, &grid_column_);
    rows_ = side_ / static_cast<int>(grid.rows), columns_ = side_ / static_cast<int>(grid.columns);
    const int zero = 0;
    int info = 0;
    descinit_(layout_.data(), &side_, &side_, &block_, &block_, &zero, &zero, &context, &rows_, &info);
    if (info != 0) throw meshwise::Error("descinit refuses the layout");
    for (auto* x : {&a_, &b_, &c_}) x->resize(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_));
    for (int j = 0; j < columns_; ++j)
      for (int i = 0; i < rows_; ++i) {
        a_[at(i, j)] = bench::Product::a(row(i), column(j));
        b_[at(i, j)] = bench::Product::b(row(i), column(j));
      }
    run();
    // Its first block, which is whole.
    p_.check("psgemm", row(0), column(0), std::min(block_, rows_), std::min(block_, columns_),
             [&](std::int64_t i, std::int64_t j) { return c_[at(static_cast<int>(i), static_cast<int>(j))]; });
  }

  void run() {
    const int first = 1;
    const float one = 1, zero = 0;
    psgemm_("N", "N", &side_, &side_, &side_, &one, a_.data(), &first, &first, layout_.data(), b_.data(), &first, &first, layout_.data(),
            &zero, c_.data(), &first, &first, layout_.data());
  }

 private:
  std::size_t at(int i, int j) const { return static_cast<std::size_t>(j) * static_cast<std::size_t>(rows_) + static_cast<std::size_t>(i); }
  int row(int i) const { return (i / block_ * grid_rows_ + grid_row_) * block_ + i % block_; }
  int column(int j) const { return (j / block_ * grid_columns_ + grid_column_) * block_ + j % block_; }

  const bench::Product p_;
  int side_, block_, rows_ = 0, columns_ = 0, grid_rows_ = 0, grid_columns_ = 0, grid_row_ = 0, grid_column_ = 0;
  std::array<int, 9> layout_{};
  std::vector<float> a_{}, b_{}, c_{};
};

struct Choice {
  int block = 0, panel = 0;
};

/// The fastest of its block sizes and these panels.
Choice best_of(const bench::Product& problem, const bench::Grid& grid, int context, const std::vector<int>& panels) {
  Choice best;
  double least = 1e9;
  for (const int block : {64, 128, 256, static_cast<int>(problem.side / grid.rows)}) {
    PsGemm peer(problem, grid, context, block);
    for (const int width : panels) {
      panel = width;
      const double seconds = std::min(bench::span_of([&] { peer.run(); }), bench::span_of([&] { peer.run(); }));
      if (seconds < least) least = seconds, best = {block, width};
    }
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  openblas_set_num_threads(1);  // a rank is a core
  const bench::Product problem(argc, argv);
  const bench::Grid grid(problem.ranks);
  int context = 0;
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, "R", static_cast<int>(grid.rows), static_cast<int>(grid.columns));

  const auto as_it_comes = best_of(problem, grid, context, {stock}), tuned = best_of(problem, grid, context, {256, 512});
  PsGemm stock_peer(problem, grid, context, as_it_comes.block), tuned_peer(problem, grid, context, tuned.block);
  auto blocks = bench::OurProduct::of_blocks(problem);
  bench::Rounds rounds;
  const auto ours = rounds.add([&] { blocks.fresh(); });
  const auto first = rounds.add([&] { stock_peer.run(); }, [&] { panel = as_it_comes.panel; });
  const auto second = rounds.add([&] { tuned_peer.run(); }, [&] { panel = tuned.panel; });
  rounds.run(5);
  const auto row = [&](const std::string& how, const Choice& choice, std::size_t peer, std::optional<double> goal) {
    bench::print_row(rounds, "operations_matmul_scalapack", problem.name + ", 2-d blocks", problem.bytes,
                     fmt::format("ScaLAPACK psgemm{}, blocks of {}, panels of {}", how, choice.block, choice.panel), peer, ours, goal);
  };
  row("", as_it_comes, first, 1.2);
  row(" tuned by us", tuned, second, {});  // no bar: nearly BLAS itself
  Cblacs_gridexit(context);
}

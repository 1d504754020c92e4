// A product of matrices against the most that BLAS gives on the same cores: every rank at once multiplies its rows of A, 1 / ranks of them, by a B that it
// has already, into memory that is used again.
// suite: operations
// ranks: 2 4
#include <cblas.h>

#include "support/product.hpp"

namespace {

class LocalBlas {
 public:
  explicit LocalBlas(const bench::Product& problem) : p_(problem), rows_(p_.side / p_.ranks) {
    const auto side = p_.side;
    a_.resize(static_cast<std::size_t>(rows_ * side));
    b_.resize(static_cast<std::size_t>(side * side));
    c_.resize(a_.size());
    for (std::int64_t i = 0; i < rows_; ++i)
      for (std::int64_t j = 0; j < side; ++j) a_[static_cast<std::size_t>(i * side + j)] = bench::Product::a(p_.rank * rows_ + i, j);
    for (std::int64_t i = 0; i < side; ++i)
      for (std::int64_t j = 0; j < side; ++j) b_[static_cast<std::size_t>(i * side + j)] = bench::Product::b(i, j);
    run();
    p_.check("BLAS", p_.rank * rows_, 0, rows_, side,
             [&](std::int64_t i, std::int64_t j) { return c_[static_cast<std::size_t>(i * side + j)]; });
  }
  void run() {
    const auto m = static_cast<int>(rows_), n = static_cast<int>(p_.side);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, n, 1.0f, a_.data(), n, b_.data(), n, 0.0f, c_.data(), n);
  }

 private:
  const bench::Product p_;
  std::int64_t rows_;
  std::vector<float> a_{}, b_{}, c_{};
};

}  // namespace

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  openblas_set_num_threads(1);  // a rank is a core
  const bench::Product problem(argc, argv);
  LocalBlas blas(problem);
  auto rows = bench::OurProduct::of_rows(problem), blocks = bench::OurProduct::of_blocks(problem);
  bench::Rounds rounds;
  const auto ours_of_rows = rounds.add([&] { rows.fresh(); }), ours_of_blocks = rounds.add([&] { blocks.fresh(); });
  const auto peer = rounds.add([&] { blas.run(); });
  rounds.run(5);
  const std::string name = "cblas_sgemm of a rank's rows, B at hand";
  bench::print_row(rounds, "operations_matmul", problem.name + ", P(x) times P()", problem.bytes, name, peer, ours_of_rows, 0.9);
  bench::print_row(rounds, "operations_matmul", problem.name + ", 2-d blocks", problem.bytes, name, peer, ours_of_blocks, 0.9);
}

#pragma once
// The task of the matmul rows: C = A B of square float32 matrices. Their elements are small integers, so that every order of summation gives the same
// sums and a result can be checked exactly.

#include <cmath>
#include <cstdlib>
#include <string>

#include "rounds.hpp"

namespace bench {

namespace mw = meshwise;

struct Product {
  std::int64_t side;
  std::int64_t ranks = mw::process_count(), rank = mw::process_index();
  std::string name = fmt::format("matmul {} x {} float32", side, side);
  std::int64_t bytes = side * side * 4;  // of a matrix

  /// The first argument, in MiB a matrix, or 64: less for a quick look.
  Product(int argc, char** argv) : Product(argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 64) {}
  /// The side is a multiple of 256, so that 2, 4 and 8 ranks and ScaLAPACK's blocks share it equally.
  explicit Product(std::int64_t mebibytes)
      : side(std::max<std::int64_t>(256, static_cast<std::int64_t>(std::sqrt(static_cast<double>(mebibytes << 18))) / 256 * 256)) {}

  static float a(std::int64_t i, std::int64_t k) { return static_cast<float>((i * 131 + k * 71 + i * k % 7) % 13 - 6); }
  static float b(std::int64_t k, std::int64_t j) { return static_cast<float>((k * 37 + j * 113 + k * j % 5) % 11 - 5); }
  float c(std::int64_t i, std::int64_t j) const {
    float sum = 0;
    for (std::int64_t k = 0; k < side; ++k) sum += a(i, k) * b(k, j);
    return sum;
  }

  /// A sample of `rows` x `columns` elements, at(i, j) of the box of C that begins at (first_row, first_column); on every rank.
  template <class At>
  void check(const std::string& whose, std::int64_t first_row, std::int64_t first_column, std::int64_t rows, std::int64_t columns,
             At&& at) const {
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < rows; i += rows / 13 + 1)
      for (std::int64_t j = 0; j < columns; j += columns / 11 + 1) wrong += at(i, j) != c(first_row + i, first_column + j);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (wrong != 0) throw mw::Error(fmt::format("{}: {} elements of a sample are wrong", whose, wrong));
  }
};

/// The grid of 2-d blocks: 1 x 1, 2 x 1, 2 x 2, 4 x 2.
struct Grid {
  std::int64_t rows = 1, columns = 1;
  explicit Grid(std::int64_t ranks) {
    while (rows * columns * 2 <= ranks) (rows == columns ? rows : columns) *= 2;
    if (rows * columns != ranks) throw mw::Error("the number of ranks has to be a power of two");
  }
};

/// Our product, of operands and into a result under these specs.
class OurProduct {
 public:
  OurProduct(const Product& problem, const mw::Mesh& mesh, const mw::PartitionSpec& of_a, const mw::PartitionSpec& of_b,
             const mw::PartitionSpec& of_c)
      : of_c_(of_c),
        a_(made(problem.side, mw::NamedSharding(mesh, of_a), &Product::a)),
        b_(made(problem.side, mw::NamedSharding(mesh, of_b), &Product::b)) {
    fresh();
    const auto shard = c_.addressable_shards().at(0);
    const auto values = shard.data().view<float>();
    problem.check("meshwise", shard.index()[0].start, shard.index()[1].start, values.shape()[0], values.shape()[1],
                  [&](std::int64_t i, std::int64_t j) { return values(i, j); });
  }

  /// Rows of A with B on every device.
  static OurProduct of_rows(const Product& problem) {
    return {problem, mw::make_mesh({problem.ranks}, {"x"}), mw::P("x"), mw::P(), mw::P("x")};
  }
  /// Rows of A, rows of B.
  static OurProduct of_split_operands(const Product& problem) {
    return {problem, mw::make_mesh({problem.ranks}, {"x"}), mw::P("x"), mw::P("x"), mw::P("x")};
  }
  /// All three in 2-d blocks.
  static OurProduct of_blocks(const Product& problem) {
    const Grid grid(problem.ranks);
    return {problem, mw::make_mesh({grid.rows, grid.columns}, {"x", "y"}), mw::P("x", "y"), mw::P("x", "y"), mw::P("x", "y")};
  }

  /// A new result while the previous one is alive, which is dropped after.
  void fresh() {
    auto next = mw::matmul(a_, b_, of_c_);
    mw::block_until_ready(next);
    c_ = std::move(next);
  }

 private:
  static mw::Array made(std::int64_t side, const mw::NamedSharding& sharding, float (*element)(std::int64_t, std::int64_t)) {
    return mw::make_array_from_callback({side, side}, mw::float32, sharding, [&](const mw::Index& box, mw::LocalArray& out) {
      const auto values = out.mutable_view<float>();
      for (auto i = box[0].start; i < box[0].stop; ++i)
        for (auto j = box[1].start; j < box[1].stop; ++j) values(i - box[0].start, j - box[1].start) = element(i, j);
    });
  }

  mw::PartitionSpec of_c_;
  mw::Array a_, b_, c_;
};

}  // namespace bench

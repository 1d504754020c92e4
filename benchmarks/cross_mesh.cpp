// From the mesh of the first half of the ranks to the mesh of the other half, 256 MiB, against MPI_Isend and MPI_Irecv: with the same boxes,
// where a shared block may be handed over, and rows to columns, where every byte changes its place.
// suite: redistribution
// ranks: 2 4
#include "support/rows_to_columns.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

/// The peer: one side's blocks to the other's, packed where `columns`.
class Messages {
 public:
  Messages(std::int64_t side, std::int64_t half, bool columns)
      : side_(side), half_(half), rank_(mw::process_index()), columns_(columns), share_(static_cast<std::size_t>(side * side / half)) {
    source_.resize(share_);
    for (std::size_t k = 0; k < share_; ++k)
      source_[k] = static_cast<double>(rank_ % half_) * static_cast<double>(share_) + static_cast<double>(k);
    packed_.assign(columns ? share_ : 0, 0.0);
    target_.assign(share_, -1.0);
  }

  void operator()() {
    const std::int64_t rows = side_ / half_, width = columns_ ? side_ / half_ : side_;
    const auto block = static_cast<int>(rows * width);
    std::vector<MPI_Request> requests;
    for (std::int64_t k = 0; k < (columns_ ? half_ : 1); ++k) {
      const std::int64_t other = columns_ ? (rank_ + k) % half_ : rank_ % half_;
      if (rank_ >= half_) {
        MPI_Irecv(target_.data() + (columns_ ? other * block : 0), block, MPI_DOUBLE, static_cast<int>(other), 3, MPI_COMM_WORLD,
                  &requests.emplace_back());
        continue;
      }
      const double* from = source_.data();
      if (columns_) {
        double* out = packed_.data() + other * block;
        from = out;
        for (std::int64_t row = 0; row < rows; ++row, out += width)
          std::memcpy(out, source_.data() + row * side_ + other * width, static_cast<std::size_t>(width) * sizeof(double));
      }
      MPI_Isend(from, block, MPI_DOUBLE, static_cast<int>(half_ + other), 3, MPI_COMM_WORLD, &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  /// Element (i, j) is i * side + j, in the block of a rank of the second half.
  void check(const double* values, const std::string& whose) const {
    const std::int64_t width = columns_ ? side_ / half_ : side_, me = rank_ - half_;
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(share_); ++k) {
      const std::int64_t i = k / width + (columns_ ? 0 : me * side_ / half_), j = k % width + (columns_ ? me * width : 0);
      if (values[k] != static_cast<double>(i * side_ + j)) throw mw::Error(whose + " moved a wrong value");
    }
  }
  const double* result() const { return target_.data(); }

 private:
  std::int64_t side_, half_, rank_;
  bool columns_;
  std::size_t share_;
  std::vector<double> source_{}, packed_{}, target_{};
};

void run(std::int64_t side, bool columns, double goal) {
  const auto n = mw::process_count(), half = n / 2;
  const auto a = mw::make_mesh({half}, {"x"}, {.devices = mw::devices().first(half)});
  const auto b = mw::make_mesh({half}, {"x"}, {.devices = mw::devices().last(half)});
  const auto x = mw::device_put(mw::arange(static_cast<double>(side * side), mw::float64).reshape({side, side}), NamedSharding(a, P("x")));
  const NamedSharding there(b, columns ? P(mw::none, "x") : P("x"));
  mw::Array y;
  const auto ours = [&] {
    auto next = mw::device_put(x, there);
    mw::block_until_ready(next);
    y = std::move(next);
  };
  Messages peer(side, half, columns);
  ours();
  peer();
  if (mw::process_index() >= half) {
    const auto mine = y.addressable_data(0).contiguous();
    peer.check(mine.view<double>().data(), "meshwise");
    peer.check(peer.result(), "MPI_Isend");
  }
  const bench::Roofline roofline(side * side * 8 / n);
  bench::Rounds rounds;
  const auto us = rounds.add(ours), isend = rounds.add([&] { peer(); }), nt = rounds.add([&] { roofline(); });
  rounds.run(7);
  const auto name = fmt::format("{0} x {0} float64, {1} to {1} ranks, {2}", side, half, columns ? "rows to columns" : "same boxes");
  bench::print_row(rounds, "cross_mesh", name, side * side * 8, columns ? "pack + MPI_Isend" : "MPI_Isend", isend, us, goal);
  bench::print_row(rounds, "cross_mesh", name, side * side * 8, "nt", nt, us, {});
}

}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto side = bench::side_of(bench::bytes_wanted(argc, argv, 256));
  const double goal = mw::process_count() == 2 ? 2.5 : 1.6;
  run(side, false, goal);
  if (mw::process_count() > 2) run(side, true, goal);
}

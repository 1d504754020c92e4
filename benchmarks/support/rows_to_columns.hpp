#pragma once
// The task of most rows: rows of a float64 array, split over the ranks, become columns. Ours through the public API, peers' buffers, the check
// of either, and what a row says.

#include <cstdlib>
#include <memory>

#include "roofline.hpp"
#include "rounds.hpp"

namespace bench {

namespace mw = meshwise;

/// The first argument, in MiB, or 512: less for a quick look.
inline std::int64_t bytes_wanted(int argc, char** argv, std::int64_t mebibytes = 512) {
  return (argc > 1 ? std::strtoll(argv[1], nullptr, 10) : mebibytes) << 20;
}

/// The side of the square of float64 of so many bytes, a multiple of 64 (so that 2, 4 and 8 ranks share it equally).
inline std::int64_t side_of(std::int64_t bytes) {
  std::int64_t side = 64;
  while ((side + 64) * (side + 64) * 8 <= bytes) side += 64;
  return side;
}

/// Rows x columns of float64; element (i, j) is i * columns + j.
struct Problem {
  std::int64_t rows, columns;
  std::int64_t ranks = mw::process_count(), rank = mw::process_index();
  std::int64_t my_rows = rows / ranks, my_columns = columns / ranks;
  std::int64_t bytes = rows * columns * 8;
  std::string name = fmt::format("{} x {} float64, rows to columns", rows, columns);

  Problem(std::int64_t r, std::int64_t c) : rows(r), columns(c) {
    if (rows % ranks != 0 || columns % ranks != 0) throw mw::Error("the ranks have to share rows and columns equally");
  }

  /// This rank's rows, for a peer; touched.
  std::vector<double> source() const {
    std::vector<double> out(static_cast<std::size_t>(my_rows * columns));
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = static_cast<double>(rank * my_rows * columns) + static_cast<double>(k);
    return out;
  }
  /// Room for this rank's columns; touched.
  std::vector<double> target() const { return std::vector<double>(static_cast<std::size_t>(rows * my_columns), -1.0); }

  /// Every element of this rank's columns, on every rank.
  void check(const double* columns_of_mine, const std::string& whose) const {
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < my_columns; ++j)
        wrong += columns_of_mine[i * my_columns + j] != static_cast<double>(i * columns + rank * my_columns + j);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (wrong != 0) throw mw::Error(fmt::format("{}: {} of {} elements are wrong", whose, wrong, rows * columns));
  }
};

/// Our reshard of a problem.
class Ours {
 public:
  explicit Ours(const Problem& problem)
      : mesh_(mw::make_mesh({problem.ranks}, {"x"})),
        columns_(mesh_, mw::P(mw::none, "x")),
        source_(mw::device_put(
            mw::arange(static_cast<double>(problem.rows * problem.columns), mw::float64).reshape({problem.rows, problem.columns}),
            mw::NamedSharding(mesh_, mw::P("x")))) {
    fresh();
    const auto mine = result_.addressable_data(0).contiguous();
    problem.check(mine.view<double>().data(), "meshwise");
  }

  /// A new result while the previous one is alive, which is dropped after.
  void fresh() {
    auto next = mw::device_put(source_, columns_);
    mw::block_until_ready(next);
    result_ = std::move(next);
  }
  /// The previous result is dropped before a round, so that its memory becomes the next one's.
  void drop() { result_ = mw::Array(); }

  const mw::Array& source() const { return source_; }

 private:
  mw::Mesh mesh_;
  mw::NamedSharding columns_;
  mw::Array source_, result_;
};

/// A peer that does the same, into a buffer it reuses.
struct Peer {
  std::string name;
  std::optional<double> goal;
  std::function<void()> run;
  std::function<const double*()> result;  // this rank's columns, row-major, after a run
};

constexpr double near_roofline = 0.90;  // reached, it also makes a peer's bar hold: nobody can be much faster

/// The rounds of us, the roofline and the peers, and a row for each. `roofline_goal` is empty where another program judges that.
inline void compete(const std::string& bench, const Problem& problem, std::optional<double> roofline_goal, const std::vector<Peer>& peers,
                    int rounds_wanted = 7) {
  for (const auto& peer : peers) {
    peer.run();
    problem.check(peer.result(), peer.name);
  }
  Ours ours(problem);
  const Roofline roofline(problem.bytes / problem.ranks);
  Rounds rounds;
  const auto fresh = rounds.add([&] { ours.fresh(); });
  const auto nt = rounds.add([&] { roofline(); });
  std::vector<std::size_t> entries;
  for (const auto& peer : peers) entries.push_back(rounds.add(peer.run));
  const auto reused = rounds.add([&] { ours.fresh(); }, [&] { ours.drop(); });
  rounds.run(rounds_wanted);
  print_row(rounds, bench, problem.name, problem.bytes, "nt", nt, fresh, roofline_goal);
  const bool near = rounds.ratio(nt, fresh) >= near_roofline;
  for (std::size_t i = 0; i < peers.size(); ++i)
    print_row(rounds, bench, problem.name, problem.bytes, peers[i].name, entries[i], fresh, peers[i].goal, near);
  if (roofline_goal)
    print_row(rounds, bench, problem.name + ", a new result each time", problem.bytes, "into a reused result", reused, fresh, 0.98);
}

}  // namespace bench

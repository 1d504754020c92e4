#pragma once
// Contestants in one run, one after the other in every round, so that a slow minute of the machine is everybody's. What counts is the median
// over the rounds of the ratio within a round.

#include <mpi.h>

#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../bench.hpp"

namespace bench {

/// CLOCK_MONOTONIC: one clock for all ranks of a machine, emulated hosts too.
inline double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Last end minus first start of all ranks, from a common barrier.
template <class F>
double span_of(F&& f) {
  MPI_Barrier(MPI_COMM_WORLD);
  double from = now();
  f();
  double ends[] = {-from, now()};  // the smallest start is the largest negative one
  MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return ends[1] + ends[0];
}

class Rounds {
 public:
  using Step = std::function<void()>;

  /// `timed` is run `calls` times a round and timed together; `before` is not timed.
  std::size_t add(Step timed, Step before = {}, int calls = 1) {
    contestants_.push_back({std::move(timed), std::move(before), calls, {}});
    return contestants_.size() - 1;
  }

  void run(int rounds) {
    for (int round = -1; round < rounds; ++round)  // the first is for warming up
      for (auto& each : contestants_) {
        if (each.before) each.before();
        const double seconds = span_of([&] {
          for (int i = 0; i < each.calls; ++i) each.timed();
        });
        if (round >= 0) each.seconds.push_back(seconds / each.calls);
      }
  }

  /// Seconds of one call.
  double seconds(std::size_t i) const { return median(contestants_[i].seconds); }
  /// Above 1 where `ours` is faster.
  double ratio(std::size_t peer, std::size_t ours) const {
    std::vector<double> ratios;
    for (std::size_t k = 0; k < contestants_[ours].seconds.size(); ++k)
      ratios.push_back(contestants_[peer].seconds[k] / contestants_[ours].seconds[k]);
    return median(std::move(ratios));
  }

 private:
  struct Contestant {
    Step timed, before;
    int calls;
    std::vector<double> seconds;
  };
  std::vector<Contestant> contestants_;
};

/// A row of `rounds`; the bar is a ratio of at least `goal`, or `instead`, where something else also makes it hold.
inline void print_row(const Rounds& rounds, const std::string& bench, const std::string& what, std::int64_t bytes,
                      const std::string& peer_name, std::size_t peer, std::size_t ours, std::optional<double> goal, bool instead = false) {
  Row row{bench, what, peer_name, bytes, rounds.seconds(ours), rounds.seconds(peer), rounds.ratio(peer, ours), goal, instead};
  if (goal && row.ratio >= *goal) row.holds = true;
  print(row);
}

}  // namespace bench

#pragma once
// What benchmarks share: one JSON line a row, thread CPU time, medians.

#include <meshwise/meshwise.hpp>

#include <mpi.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

namespace bench {

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// Seconds of CPU this thread has used: what a goal in microseconds is about, whatever else the machine does.
inline double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// CPU seconds of a call, the least of 7 rounds of so many calls.
template <class F>
double seconds_a_call(int calls, F&& f) {
  double best = 1;
  for (int round = 0; round < 7; ++round) {
    const double start = thread_seconds();
    for (int i = 0; i < calls; ++i) f();
    best = std::min(best, (thread_seconds() - start) / calls);
  }
  return best;
}

struct Row {
  std::string bench, what, peer;
  std::int64_t bytes = 0;
  double ours = 0, theirs = 0;
  double ratio = 0;                    // theirs / ours: above 1 we are faster
  std::optional<double> goal{};        // of the ratio, or of `ours` where there is no peer
  bool holds = false;
};

inline void print(const Row& row) {
  meshwise::print("{{\"bench\": \"{}\", \"case\": \"{}\", \"ranks\": {}, \"bytes\": {}, \"peer\": \"{}\", \"ours_s\": {:.4g}, \"peer_s\": {:.4g}, \"ratio\": {:.3g}, \"goal\": {}, \"holds\": {}}}\n",
                  row.bench, row.what, meshwise::process_count(), row.bytes, row.peer, row.ours, row.theirs, row.ratio,
                  row.goal ? fmt::format("{:.3g}", *row.goal) : "null", row.goal ? (row.holds ? "true" : "false") : "null");
}

/// The largest of all ranks' numbers.
inline double slowest(double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

/// Last end minus first start, from a common barrier.
template <class F>
double wall(F&& f) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  f();
  const double end = MPI_Wtime();
  double first = 0, last = 0;
  MPI_Allreduce(&start, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return last - first;
}

}  // namespace bench

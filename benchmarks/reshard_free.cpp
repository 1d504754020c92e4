// Movements in which no byte has to move: thread CPU time of a call, the minimum of 7 rounds, the slowest rank; and bytes copied or sent.
// suite: redistribution
// ranks: 2 4
#include "bench.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

template <class F>
void report(const std::string& what, std::int64_t bytes, F&& move) {
  constexpr int calls = 5000;  // so many that caches and predictors know the way
  constexpr double goal = 1e-6;
  mw::block_until_ready(move());
  double best = 1;
  std::int64_t moved = 0;
  for (int round = 0; round < 7; ++round) {
    mw::barrier();
    const auto before = mw::runtime_stats();
    const double start = bench::thread_seconds();
    for (int i = 0; i < calls; ++i) mw::block_until_ready(move());
    best = std::min(best, (bench::thread_seconds() - start) / calls);
    const auto after = mw::runtime_stats();
    moved += after.bytes_copied - before.bytes_copied + after.bytes_sent - before.bytes_sent;
  }
  MPI_Allreduce(MPI_IN_PLACE, &moved, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  const double seconds = bench::slowest(best);
  bench::print(
      {"reshard_free", fmt::format("{}, {} bytes moved", what, moved), "", bytes, seconds, 0, 0, goal, seconds < goal && moved == 0});
}

/// On a node that shares memory MPI carries nothing.
void report_payload(const mw::Array& x, const NamedSharding& target) {
  const auto before = mw::runtime_stats().bytes_sent;
  mw::block_until_ready(mw::device_put(x, target));
  auto sent = mw::runtime_stats().bytes_sent - before;
  MPI_Allreduce(MPI_IN_PLACE, &sent, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  bench::print({"reshard_free", fmt::format("rows to columns on a node, {} bytes of payload by MPI", sent), "", x.nbytes(), static_cast<double>(sent), 0, 0, 0.0, sent == 0});
}

}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  constexpr std::int64_t side = 4096;
  const auto n = mw::process_count();
  const auto mesh = mw::make_mesh({n}, {"x"});
  const NamedSharding rows(mesh, P("x")), columns(mesh, P(mw::none, "x")), named(mw::make_mesh({n}, {"y"}), P("y"));
  const NamedSharding elsewhere(mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()}), P("x"));
  const auto values = mw::arange(static_cast<double>(side * side), mw::float64).reshape({side, side});
  const auto x = mw::device_put(values, rows), y = mw::device_put(values, columns);
  const auto bytes = x.nbytes();
  report_payload(x, columns);
  report("unchanged sharding", bytes, [&] { return mw::device_put(x, rows); });
  report("equal boxes on another mesh of the same devices", bytes, [&] { return mw::device_put(x, named); });
  report("equal boxes on a mesh of the devices in another order", bytes, [&] { return mw::device_put(x, elsewhere); });
  report("contiguous slice", bytes, [&] { return y[mw::Slice(side / 4, side / 2)]; });
}

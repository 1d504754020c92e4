// Rows to columns between hosts, against raw contiguous MPI_Alltoallv on the same links; and behind as long a sleep, as work that needs no core.
// suite: redistribution
// hosts: 2x1 4x1 1gbit
#include <thread>

#include "support/mpi_peers.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto side = bench::side_of(bench::bytes_wanted(argc, argv, 64));
  const bench::Problem problem(side, side);
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int per_host = 0;
  MPI_Comm_size(host, &per_host);
  MPI_Comm_free(&host);
  const auto name = fmt::format("{}, {} hosts", problem.name, problem.ranks / per_host);
  bench::MpiPeers mpi(problem);
  mpi.pack_alltoallv();
  problem.check(mpi.result(), "pack + MPI_Alltoallv");
  bench::Ours ours(problem);

  bench::Rounds rounds;
  const auto us = rounds.add([&] { ours.fresh(); }), raw = rounds.add([&] { mpi.raw_alltoallv(); });
  rounds.run(5);
  bench::print_row(rounds, "reshard_hosts", name, problem.bytes, "raw MPI_Alltoallv", raw, us, 0.95);

  // What explain says, by figures that calibrate() measures on these links, beside the time it took.
  mw::calibrate();
  const mw::NamedSharding target(ours.source().sharding().mesh(), mw::P(mw::none, "x"));
  const double said = mw::plan_report(ours.source(), target).seconds, took = rounds.seconds(us);
  bench::print({"reshard_hosts", name + ": time taken / explain's estimate, 0.8 to 1.25", "the estimate", problem.bytes, took, said, took / said, 1.0,
                took / said >= 0.8 && took / said <= 1.25});

  // The same length for work and for transfer, so that nothing but overlap makes them one.
  double seconds = rounds.seconds(us);
  MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const auto work = [&] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
  mw::Array y;
  bench::Rounds overlap;
  const auto both = overlap.add([&] {
    y = mw::device_put(ours.source(), target);
    work();
    mw::block_until_ready(y);
  });
  const auto alone = overlap.add([&] { ours.fresh(); }), slept = overlap.add(work);
  overlap.run(5);
  const double together = overlap.seconds(both), longer = std::max(overlap.seconds(alone), overlap.seconds(slept));
  const double ratio = 1 / std::max(overlap.ratio(alone, both), overlap.ratio(slept, both)), goal = 1.15;
  bench::print({"reshard_hosts", name + ", with work beside it: together / the longer, at most", "the longer of reshard and work",
                problem.bytes, together, longer, ratio, goal, ratio <= goal});
}

// U-121: ranks start with different settings. Rank 0's hold on all of them: no two choose different ways by what each sees alone.
// ranks: 2 4
// within: 10
// prints: all ranks agree
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/row_major_numbers.hpp"

namespace mw = meshwise;

namespace {

bool works() {
  const auto n = mw::process_count();
  const mw::NamedSharding rows(support::line(n), mw::P("x"));
  const auto x = mw::device_put(support::numbered({64, 48}, mw::float64), rows);
  mw::barrier();
  const auto before = mw::runtime_stats();
  const auto y = mw::reshard(x, mw::P(mw::none, "x"));
  mw::block_until_ready(y);
  const auto after = mw::runtime_stats();
  const auto bytes = after.bytes_sent - before.bytes_sent;
  return mw::setting("MESHWISE_CHUNK_BYTES") == "64" && mw::memory_stats().store == "private" && bytes > 0 &&
         bytes <= 64 * (after.messages_sent - before.messages_sent) && support::wrong_numbers<double>(y) == 0 &&
         mw::sum(y).item<double>() == 3071.0 * 3072.0 / 2;
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0, rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  setenv("MESHWISE_CHUNK_BYTES", rank == 0 ? "64" : "1000000", 1);
  setenv("MESHWISE_STORE", rank == 0 ? "private" : "arena", 1);
  setenv("MESHWISE_WINDOW", rank == 0 ? "2" : "5", 1);
  setenv("MESHWISE_CHECK", rank == 0 ? "ledger" : "lockstep", 1);
  bool right = false;
  {
    const mw::Environment env(argc, argv);
    right = works();
    mw::barrier();
  }
  if (right && rank == 0) std::puts("all ranks agree");
  MPI_Finalize();
  return right ? 0 : 1;
}

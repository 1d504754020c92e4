// The limit that the user set for waits is an error like others: every rank can catch it by its type, also the one that came too late.
// ranks: 2 3
// env: MESHWISE_TIMEOUT=2
// within: 8
// prints: all ranks caught it
#include <meshwise/runtime/interop_mpi.hpp>

#include <cstdio>
#include <string>

#include "support/row_major_numbers.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto me = mw::process_index();
  const auto x = mw::device_put(support::numbered({6, 6}, mw::float32), mw::NamedSharding(support::line(mw::process_count()), mw::P("x")));
  int caught = 0;
  for (int k = 0; k < 2; ++k) {  // the second time it is remembered
    if (k == 0 && me == 1) MPI_Recv(&caught, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    caught = 0;
    try {
      mw::block_until_ready(mw::reshard(x, mw::P(mw::none, "x")));
    } catch (const mw::CommunicationError& error) {
      const std::string words = error.what();
      caught = words.find(" reshard float32[6,6] ") != std::string::npos && words.find("for rank 1 ") != std::string::npos &&
               words.find("MESHWISE_TIMEOUT is 2 s") != std::string::npos;
      if (caught == 0) std::fprintf(stderr, "%s\n", words.c_str());
    }
    if (caught == 0 && (k > 0 || me != 1)) return 1;  // the late rank's data may all be there, and the notice not yet read
    if (k == 0 && me == 0) MPI_Send(&caught, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  }
  if (me == 0) std::puts("all ranks caught it");
}

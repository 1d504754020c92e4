// A transfer is under way while its sender sits in a barrier of MPI's that the receiver enters only once it has everything. What goes over the wire are
// columns, packed a chunk at a time, in more chunks than are handed to MPI at once: without a thread that serves transfers this program never ends.
// ranks: 2 4
// variant: private ranks=2,4 MESHWISE_STORE=private
// variant: tcp ranks=2,4 OMPI_MCA_btl=tcp,self MESHWISE_STORE=private
// hosts: 2x1 2x2 4x1
// within: 10
#include <meshwise/runtime/interop_mpi.hpp>

#include <cstdio>

#include "support/row_major_numbers.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto n = mw::process_count();
  const auto near = support::line(1), far = mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()});
  const mw::Shape shape{4096 * n, 1024};  // 32 MiB for each rank: of every row it gets a part
  const auto x = mw::device_put(support::numbered(shape, mw::float64), mw::NamedSharding(near, mw::P()));
  mw::barrier();
  bool right = true;
  for (int k = 0; k < 2; ++k) {
    const auto before = mw::runtime_stats();
    const auto y = mw::device_put(x, mw::NamedSharding(far, mw::P(mw::none, "x")));
    if (mw::process_index() != 0) {
      mw::block_until_ready(y);
      right = right && support::wrong_numbers<double>(y) == 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const auto after = mw::runtime_stats();
    const bool by_messages = mw::memory_stats().store == "private" && mw::process_index() == 0;
    if (by_messages && (after.bytes_sent - before.bytes_sent != (n - 1) * (32 << 20) || after.messages_sent - before.messages_sent < (n - 1) * 32)) {
      std::fprintf(stderr, "%lld bytes sent\n", static_cast<long long>(after.bytes_sent - before.bytes_sent));
      right = false;
    }
    right = right && support::wrong_numbers<double>(y) == 0;
  }
  return right ? 0 : 1;
}

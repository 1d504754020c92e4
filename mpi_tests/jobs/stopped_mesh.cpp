// A chain of moves on one mesh finishes while the ranks of a disjoint mesh are stopped.
// ranks: 4
// variant: private ranks=4 MESHWISE_STORE=private
// within: 20
#include <signal.h>
#include <unistd.h>

#include <meshwise/meshwise.hpp>
#include <meshwise/runtime/interop_mpi.hpp>

#include <vector>

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const int me = static_cast<int>(mw::process_index());
  std::vector<pid_t> pids(4);
  const pid_t own = getpid();
  MPI_Allgather(&own, sizeof own, MPI_BYTE, pids.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD);
  const auto a = mw::make_mesh({2}, {"x"}, {.devices = mw::DeviceList{0, 1}}), b = mw::make_mesh({2}, {"x"}, {.devices = mw::DeviceList{2, 3}});
  auto x = mw::device_put(mw::arange(1 << 20, mw::float32).reshape({1024, 1024}), mw::NamedSharding(a, mw::P("x")));
  auto y = mw::device_put(mw::arange(1 << 20, mw::float32).reshape({1024, 1024}), mw::NamedSharding(b, mw::P("x")));
  mw::barrier();
  if (me >= 2) kill(own, SIGSTOP);
  for (int k = 0; k < 50; ++k) {
    x = mw::reshard(x, k % 2 == 0 ? mw::P(mw::none, "x") : mw::P("x"));
    y = mw::reshard(y, k % 2 == 0 ? mw::P(mw::none, "x") : mw::P("x"));
    x = x + 1.0F;
  }
  mw::block_until_ready(x);
  bool right = true;
  for (const auto& shard : x.addressable_shards()) right = right && shard.data().view<float>()[0] == static_cast<float>(shard.index()[0].start * 1024 + 50);
  if (me < 2) {
    int both = 0, mine = 1;
    MPI_Sendrecv(&mine, 1, MPI_INT, 1 - me, 0, &both, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 0) {
      kill(pids[2], SIGCONT);
      kill(pids[3], SIGCONT);
    }
  }
  mw::barrier();
  return right ? 0 : 1;
}

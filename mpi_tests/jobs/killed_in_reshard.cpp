// A rank is killed in the middle of a reshard of 512 MiB: the job ends in seconds, somebody says which rank died, and no shared memory stays behind (ours has
// no name that could).
// ranks: 2 4
// variant: private ranks=2,4 MESHWISE_STORE=private
// hosts: 2x2
// exit: nonzero
// within: 15
// prints: rank 1 kills itself amid a reshard
// prints: rank 1 died
// leaves: nothing
#include <signal.h>
#include <unistd.h>

#include <meshwise/meshwise.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto mesh = mw::make_mesh({mw::process_count()}, {"x"});
  const mw::NamedSharding rows(mesh, mw::P("x")), columns(mesh, mw::P(mw::none, "x"));
  auto x = mw::device_put(mw::zeros({8192, 8192}, mw::float64), rows);
  mw::block_until_ready(x);
  std::atomic<int> begun = 0, ended = 0;
  std::thread killer;
  for (int k = 0; k < 10000; ++k) {
    const auto start = std::chrono::steady_clock::now();
    begun = k + 1;
    x = mw::device_put(x, k % 2 == 0 ? columns : rows);
    mw::block_until_ready(x);
    ended = k + 1;
    const auto took = std::chrono::steady_clock::now() - start;
    if (k != 2 || mw::process_index() != 1) continue;
    killer = std::thread([&, half = took / 2] {
      for (;;) {
        const int call = ended + 1;
        while (begun < call) std::this_thread::yield();
        std::this_thread::sleep_for(half);
        if (ended >= call) continue;  // it was a quick one: the next then
        std::fputs("rank 1 kills itself amid a reshard\n", stderr);
        kill(getpid(), SIGKILL);
      }
    });
  }
}

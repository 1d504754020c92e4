// A rank is killed in the middle of large reshards: the job ends in seconds, somebody says which rank died, and no shared memory stays behind (ours has no
// name that could).
// ranks: 2 4
// exit: nonzero
// within: 5
// prints: rank 1 died
// leaves: nothing
#include <signal.h>
#include <unistd.h>

#include <meshwise/meshwise.hpp>

#include <thread>

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto n = mw::process_count();
  const auto mesh = mw::make_mesh({n}, {"x"});
  const mw::NamedSharding rows(mesh, mw::P("x")), columns(mesh, mw::P(mw::none, "x"));
  auto x = mw::device_put(mw::zeros({4096, 4096}, mw::float64), rows);
  mw::barrier();
  if (mw::process_index() == 1) {
    std::thread([] {
      usleep(400'000);
      kill(getpid(), SIGKILL);
    }).detach();
  }
  for (int k = 0; k < 100000; ++k) {
    x = mw::device_put(x, k % 2 == 0 ? columns : rows);
    mw::block_until_ready(x);
  }
}

// Where the ranks of a node can't share memory (here: no file of theirs may have a byte) they say so once, and go without.
// ranks: 2 4
// within: 10
// once: the ranks of a node can't share memory here
#include <mpi.h>
#include <sys/resource.h>

#include <csignal>

#include <meshwise/meshwise.hpp>

namespace mw = meshwise;

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);  // MPI's own files come first
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_FSIZE, &none);
  bool right = false;
  {
    const mw::Environment env(argc, argv);
    const auto n = mw::process_count();
    const auto mesh = mw::make_mesh({n}, {"x"});
    const auto x = mw::device_put(mw::arange(1e6).reshape({1000, 1000}), mw::NamedSharding(mesh, mw::P("x")));
    const auto y = mw::device_put(x, mw::NamedSharding(mesh, mw::P(mw::none, "x")));
    right = mw::memory_stats().store == "private" && mw::sum(y - x).item<float>() == 0.0f && mw::max(y).item<float>() == 999999.0f;
  }
  MPI_Finalize();
  return right ? 0 : 1;
}

// U-014: two jobs of the same program run at once in one folder; neither sees anything of the other's. The first rank of the job that the test starts is
// itself the launcher of the second, through the same script.
// ranks: 2
// internals: paths
// within: 30
// timeout: 60
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <meshwise/meshwise.hpp>

namespace mw = meshwise;

namespace {

/// Starts the second job in an environment without the first one's marks.
int second_job() {
  const std::string command = std::string("env -i PATH=\"$PATH\" HOME=\"$HOME\" ASAN_OPTIONS=\"$ASAN_OPTIONS\" LSAN_OPTIONS=\"$LSAN_OPTIONS\" MESHWISE_NO_BUILD=1 TWO_AT_ONCE=second ") + MESHWISE_SOURCE_DIR +
                              "/scripts/run_mpirun.sh -n 2 " + MESHWISE_BINARY_DIR + "/mpi_tests/jobs/u014_two_at_once";
  return std::system(command.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const bool second = std::getenv("TWO_AT_ONCE") != nullptr;
  const mw::Environment env(argc, argv);
  int code = 0;
  std::thread other;
  if (!second && mw::process_index() == 0) other = std::thread([&] { code = second_job(); });
  const auto mesh = mw::make_mesh({mw::process_count()}, {"x"});
  const std::string file = second ? "u014_two_at_once.second.h5" : "u014_two_at_once.first.h5";
  bool right = true;
  for (int k = 0; k < 40; ++k) {
    const double base = second ? 1000 * k : 0;
    const auto x = mw::device_put(mw::arange(1024, mw::float64), mw::NamedSharding(mesh, mw::P("x"))) + base;
    const auto y = mw::device_put(x, mw::NamedSharding(mesh, mw::P()));
    right = right && mw::sum(y).item<double>() == 523776 + 1024 * base;
    if (k % 10 != 0) continue;
    mw::io::write(file, "x", x);
    const auto z = mw::io::read(file, "x", mw::NamedSharding(mesh, mw::P()));
    right = right && mw::all(mw::equal(z, y)).item<bool>();
  }
  mw::barrier();
  if (mw::process_index() == 0) std::remove(file.c_str());
  if (other.joinable()) other.join();
  return right && code == 0 ? 0 : 1;
}

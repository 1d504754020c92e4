// U-102: eight ranks on a few cores wait for each other all the time and still get on: as the launcher starts them, and on a host with as many slots declared,
// where Open MPI would have them spin, once they are told to yield; the documents warn of it. The job that the test starts launches the others.
// ranks: 1
// internals: paths
// within: 30
// timeout: 60
#include <mpi.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <meshwise/meshwise.hpp>

#include "support/launched.hpp"

namespace mw = meshwise;

namespace {

std::string text_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

/// The part of a suite that waits: barriers, MPI's own too, and moves of next to nothing. Ranks that spin take half a minute for it.
int suite() {
  const auto mesh = mw::make_mesh({mw::process_count()}, {"x"});
  const auto x = mw::device_put(mw::arange(64.0).reshape({8, 8}), mw::NamedSharding(mesh, mw::P("x")));
  bool right = mw::process_count() == 8 && text_of("OMPI_MCA_mpi_yield_when_idle") == "1";
  for (int k = 0; k < 1000; ++k) {
    mw::barrier();
    MPI_Barrier(MPI_COMM_WORLD);
    right = right && mw::sum(mw::reshard(x, mw::P(mw::none, "x"))).item<float>() == 2016.0f;
  }
  return right ? 0 : 1;
}

bool runs(const std::string& options) {
  return support::launched("SUITE=1", "-n 8 " + options + " " MESHWISE_BINARY_DIR "/mpi_tests/jobs/u102_ranks_that_yield");
}

}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  if (std::getenv("SUITE") != nullptr) return suite();
  std::ifstream in(MESHWISE_SOURCE_DIR "/docs/settings.md");
  std::stringstream settings;
  settings << in.rdbuf();
  const bool warned = settings.str().find("Beware of `--host localhost:8`") != std::string::npos;
  return runs("") && runs("--host localhost:8 --mca mpi_yield_when_idle 1") && warned ? 0 : 1;
}

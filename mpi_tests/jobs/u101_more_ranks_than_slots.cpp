// U-101: more ranks than the machine has slots start without flags of the user's. Two slots are all there is, and with the launcher's own setting taken back
// the same line is refused. The job that the test starts launches the others.
// ranks: 1
// internals: paths
// within: 30
// timeout: 60
#include <cstdlib>
#include <string>

#include <meshwise/meshwise.hpp>

#include "support/launched.hpp"

namespace mw = meshwise;

namespace {

bool runs(const std::string& settings) {
  return support::launched("EIGHT=1 OMPI_MCA_orte_set_default_slots=2 " + settings, "-n 8 " MESHWISE_BINARY_DIR "/mpi_tests/jobs/u101_more_ranks_than_slots");
}

}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  if (std::getenv("EIGHT") != nullptr) {
    const auto x = mw::device_put(mw::arange(8.0), mw::NamedSharding(mw::make_mesh({8}, {"x"}), mw::P("x")));
    return mw::process_count() == 8 && mw::sum(x).item<float>() == 28.0f ? 0 : 1;
  }
  return runs("") && !runs("OMPI_MCA_rmaps_base_oversubscribe=0") ? 0 : 1;
}

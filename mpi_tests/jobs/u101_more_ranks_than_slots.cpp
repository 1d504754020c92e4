// U-101: more ranks than the machine has slots start without flags of the user's. Two slots are all there is, and with the launcher's own setting taken back
// the same line is refused. The job that the test starts launches the others.
// ranks: 1
// internals: paths
// within: 30
// timeout: 60
#include <cstdio>
#include <cstdlib>
#include <string>

#include <meshwise/meshwise.hpp>

namespace mw = meshwise;

namespace {

bool runs(const std::string& settings) {
  const std::string command = std::string("env -i PATH=\"$PATH\" HOME=\"$HOME\" ASAN_OPTIONS=\"$ASAN_OPTIONS\" LSAN_OPTIONS=\"$LSAN_OPTIONS\" MESHWISE_NO_BUILD=1 EIGHT=1 OMPI_MCA_orte_set_default_slots=2 ") +
                              settings + " " + MESHWISE_SOURCE_DIR + "/scripts/run_mpirun.sh -n 8 " + MESHWISE_BINARY_DIR + "/mpi_tests/jobs/u101_more_ranks_than_slots";
  const int code = std::system(command.c_str());
  std::printf("with '%s': code %d\n", settings.c_str(), code);
  return code == 0;
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

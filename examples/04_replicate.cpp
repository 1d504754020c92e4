// P() splits nothing: every device holds the whole array, and there are still eight shards.
// Run: scripts/run_mpirun.sh -n 8 build/examples/replicate
// or as one process with eight devices: MESHWISE_DEVICES_PER_RANK=8 build/examples/replicate

#include <meshwise/meshwise.hpp>

#include "support.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  if (!enough_devices(8, "replicate")) return 1;

  auto mesh = mw::make_mesh({4, 2}, {"data", "model"});
  auto r = mw::device_put(mw::arange(128.0).reshape({8, 16}), NamedSharding(mesh, P()));

  mw::print("{} {}\n", r.is_fully_replicated(), r.addressable_shards()[0].data().shape());
  mw::print("{} {} {}\n", r.addressable_shards().size(), r.global_shards().size(), r.is_fully_addressable());
  return 0;
}

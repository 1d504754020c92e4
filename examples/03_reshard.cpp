// A reshard makes a second array; the first lives, untouched, until you drop it.
// Run: scripts/run_mpirun.sh -n 8 build/examples/reshard

#include <meshwise/meshwise.hpp>

#include "support.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  if (!enough_devices(8, "reshard")) return 1;

  auto mesh = mw::make_mesh({4, 2}, {"data", "model"});
  auto x = mw::device_put(mw::arange(128.0).reshape({8, 16}), NamedSharding(mesh, P("data", "model")));
  auto y = mw::device_put(x, NamedSharding(mesh, P("model", "data")));

  mw::print("{} {}\n", x.addressable_shards()[0].data().shape(), y.addressable_shards()[0].data().shape());
  const bool equal = mw::all(x == y).item<bool>();  // collective: every rank calls it, rank 0 prints
  mw::print("{}\n", equal);
  mw::print("{} {}\n", x.sharding().spec(), y.sharding().spec());
  return 0;
}

// The same values twice on one mesh under opposite specs: layouts negotiate, device sets do not.
// Run: scripts/run_mpirun.sh -n 8 build/examples/add_two_layouts

#include <meshwise/meshwise.hpp>

#include "support.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  if (!enough_devices(8, "add_two_layouts")) return 1;

  auto mesh = mw::make_mesh({4, 2}, {"data", "model"});
  auto u = mw::ones({8, 16});
  auto a = mw::device_put(u, NamedSharding(mesh, P("data", "model")));
  auto b = mw::device_put(u, NamedSharding(mesh, P("model", "data")));
  auto r = mw::device_put(u, NamedSharding(mesh, P()));
  auto one = mw::device_put(u, mw::devices()[3]);

  mw::print("{} {}\n", (a + b).sharding().spec(), (b + a).sharding().spec());
  mw::print("{} {}\n", (a + r).sharding().spec(), (r + a).sharding().spec());
  try {
    a + one;
  } catch (const mw::CommitmentError& error) {
    mw::print("{}\n", error.what());
  }
  return 0;
}

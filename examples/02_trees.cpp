// A tree of arrays placed with one sharding for all leaves, and with a tree of shardings.
// Run: scripts/run_mpirun.sh -n 8 build/examples/trees

#include <meshwise/meshwise.hpp>

#include "support.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  if (!enough_devices(8, "trees")) return 1;

  auto mesh = mw::make_mesh({4, 2}, {"data", "model"});
  mw::Tree tree{{"w", mw::ones({8, 16})}, {"b", mw::zeros({16})}};

  const auto show = [](const mw::Tree& placed) {
    for (const auto& [key, leaf] : placed.entries())
      mw::print("{}: {} {}\n", key, leaf.leaf().sharding().spec(), leaf.leaf().addressable_shards()[0].data().shape());
  };
  show(mw::device_put(tree, NamedSharding(mesh, P("data"))));  // short specs pad
  show(mw::device_put(tree, mw::ShardingTree{{"w", NamedSharding(mesh, P("data", "model"))}, {"b", NamedSharding(mesh, P("model"))}}));
  return 0;
}

// Default placement, commitment, and moving between meshes.
// Run: scripts/run_mpirun.sh -n 8 build/examples/data_placement

#include <meshwise/meshwise.hpp>

#include <vector>

#include "support.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

/// What each device holds of a (8) array with one element a device, in device order; Collective.
std::vector<float> data_by_device(const mw::Array& x) {
  std::vector<float> held(static_cast<std::size_t>(x.size()));
  const auto values = mw::device_get(x);
  for (const auto& shard : x.global_shards()) held[static_cast<std::size_t>(shard.device().id)] = values.view<float>()[shard.index()[0].start];
  return held;
}

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  if (!enough_devices(8, "data_placement")) return 1;

  const mw::AxisTypes types = mw::AxisType::Explicit;
  auto full = mw::make_mesh({8}, {"x"}, {.axis_types = types});
  mw::print("{}\n", full);
  auto mesh_a = mw::make_mesh({4}, {"x"}, {.devices = full.devices().first(4), .axis_types = types});
  auto mesh_b = mw::make_mesh({4}, {"x"}, {.devices = full.devices().last(4), .axis_types = types});
  auto m0 = mw::make_mesh({1}, {"x"}, {.devices = full.devices().first(1), .axis_types = types});
  auto m1 = mw::make_mesh({1}, {"x"}, {.devices = full.devices().slice(1, 2), .axis_types = types});

  // Default placement, and commitment
  auto u = mw::arange(4.0);
  mw::print("{} {}\n", u.committed(), u.sharding());
  std::vector<float> data{0, 1, 2, 3, 4, 5, 6, 7};
  auto xa = mw::device_put(data, NamedSharding(mesh_a, P("x")));
  mw::print("{} {}\n", xa.committed(), xa.sharding().mesh() == mesh_a);

  auto a = mw::device_put(1.0, NamedSharding(m0, P()));
  auto b = mw::device_put(2.0, NamedSharding(m1, P()));
  try {
    a + b;  // committed to different meshes
  } catch (const mw::CommitmentError& error) {
    mw::print("{}\n", error.what());
  }
  auto c = mw::asarray(3.0f);               // uncommitted
  mw::print("{}\n", (a + c).sharding());    // runs on m0, where a is committed

  // Moving data between meshes
  auto xb = mw::device_put(xa, NamedSharding(mesh_b, P("x")));
  mw::print("{}\n", xb.sharding().mesh() == mesh_b);

  auto mesh_rev = mw::make_mesh({8}, {"x"}, {.devices = full.devices().reversed(), .axis_types = types});
  auto x = mw::device_put(data, NamedSharding(full, P("x")));
  auto y = mw::device_put(x, NamedSharding(mesh_rev, P("x")));  // same devices, new order
  const auto before = data_by_device(x), after = data_by_device(y);
  mw::print("[{:.1f}]\n", fmt::join(before, ", "));
  mw::print("[{:.1f}]\n", fmt::join(after, ", "));
  return 0;
}

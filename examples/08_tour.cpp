// A tour: placing, trees, moving, costs and pictures, data from files and callbacks, checkpoints.
// Run: scripts/run_mpirun.sh -n 8 build/examples/tour, or MESHWISE_DEVICES_PER_RANK=8 build/examples/tour

#include <meshwise/meshwise.hpp>

#include "support.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  if (!enough_devices(8, "tour")) return 1;

  // 1. Placing the same values twice under opposite specs
  auto mesh = mw::make_mesh({4, 2}, {"data", "model"});  // devices 0..7, row-major, Auto axes
  auto u = mw::ones({8, 16});                            // a recipe: uncommitted, no memory yet
  auto a = mw::device_put(u, NamedSharding(mesh, P("data", "model")));
  auto b = mw::device_put(u, NamedSharding(mesh, P("model", "data")));
  auto r = mw::device_put(u, NamedSharding(mesh, P()));
  auto one = mw::device_put(u, mw::devices()[3]);
  mw::print("{} {}\n", (a + b).sharding().spec(), (b + a).sharding().spec());  // once, by rank 0
  mw::print("{} {}\n", (a + r).sharding().spec(), (r + a).sharding().spec());
  try {
    a + one;
  } catch (const mw::CommitmentError& error) {
    mw::print("{}\n", error.what());  // the same on every rank
  }

  // 2. Trees
  mw::Tree tree{{"w", mw::ones({8, 16})}, {"b", mw::zeros({16})}};
  auto same = mw::device_put(tree, NamedSharding(mesh, P("data")));  // short specs pad
  auto each = mw::device_put(tree, mw::ShardingTree{{"w", NamedSharding(mesh, P("data", "model"))}, {"b", NamedSharding(mesh, P("model"))}});
  mw::print("{}\n{}\n", same, each);
  mw::print("{}\n", each["w"].addressable_shards()[0].data().shape());

  // 3. Moving: a new array, and the old one until you drop it
  auto x = mw::device_put(mw::arange(128.0f).reshape({8, 16}), NamedSharding(mesh, P("data", "model")));
  auto y = mw::reshard(x, P("model", "data"));  // same mesh
  auto full = mw::devices();
  auto reversed = mw::make_mesh({8}, {"x"}, {.devices = full.reversed(), .axis_types = mw::AxisType::Explicit});
  auto z = mw::device_put(x, NamedSharding(reversed, P("x")));  // other device order: another mesh, so device_put
  auto w = mw::device_put(std::move(x), NamedSharding(mesh, P()), {.donate = true});
  mw::print("{}\n", z.sharding());
  const bool equal = mw::all(w == mw::device_put(y, w.sharding())).item<bool>();  // item: Collective, the same bits on every rank
  mw::print("{}\n", equal);

  // 4. What does it cost, before it moves; what does it look like
  mw::print("{}\n", mw::explain(y, NamedSharding(mesh, P("data"))));
  mw::print("{}\n", mw::visualize(y));

  // 5. Data from files and callbacks, each rank reading only its own box
  auto images = mw::io::read(MESHWISE_EXAMPLE_DATA "/digits.h5", "/images", NamedSharding(mesh, P("data"))).astype(mw::float32) / 16.0f;
  auto grid = mw::make_array_from_callback({1024, 1024}, mw::float64, NamedSharding(mesh, P("data", "model")), [](const mw::Index& box, mw::LocalArray& out) {
    auto values = out.mutable_view<double>();
    for (std::int64_t i = 0; i < box[0].size(); ++i)
      for (std::int64_t j = 0; j < box[1].size(); ++j) values(i, j) = static_cast<double>((box[0].start + i) * 1024 + box[1].start + j);
  });
  const auto brightest = mw::max(images).item<float>();
  const auto last = grid[{-1, -1}].item<double>();
  mw::print("{} {}\n{} {}\n", mw::type_string(images), brightest, mw::type_string(grid), last);

  // 6. Checkpoints: saved in the background, loaded onto whatever is there then
  mw::io::Checkpointer checkpoints(fmt::format("tour_of_{}", mw::process_count()), {.keep = mw::io::keep_last(3)});
  auto saving = checkpoints.save_async(100, tree, {.overwrite = true});
  saving.wait();
  auto restored = checkpoints.load(checkpoints.latest(), same);  // like `same`: its shardings, any rank count
  mw::print("step {}: {}\n", restored.report.step, restored);
  return 0;
}

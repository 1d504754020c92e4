// The README's first program.
// Run: scripts/run_mpirun.sh -n 4 build/examples/first

#include <meshwise/meshwise.hpp>
namespace mw = meshwise;
using mw::NamedSharding, mw::P;

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  auto mesh = mw::make_mesh({2, 2}, {"data", "model"});
  auto x = mw::device_put(mw::arange(32.0).reshape({4, 8}), NamedSharding(mesh, P("data", "model")));
  auto y = mw::reshard(x, P("model", "data"));
  mw::print("{}", mw::visualize(x));
  mw::print("{} + {} = {}\n", x.sharding().spec(), y.sharding().spec(), (x + y).sharding().spec());
  const float total = mw::sum(x + y).item<float>();
  mw::print("sum {}\n", total);
}

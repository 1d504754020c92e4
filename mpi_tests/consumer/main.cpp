#include <meshwise/meshwise.hpp>
#include <meshwise/runtime/interop_mpi.hpp>

namespace mw = meshwise;

int main(int argc, char** argv) {
  mw::Environment env(argc, argv);
  const auto mesh = mw::make_mesh({2}, {"x"}, {.devices = mw::devices().slice(0, 2)});
  const auto a = mw::device_put(mw::arange(6), mw::NamedSharding(mesh, mw::P("x")));
  mw::print("{}\n", mw::sum(a + a).item<std::int32_t>());
}

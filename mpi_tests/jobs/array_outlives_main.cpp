// U-118: static arrays, meshes and trees that outlive the Environment and MPI; reads after the end throw, and say why.
// ranks: 1 4
// never: MPI_ABORT|after MPI_FINALIZE
#include <meshwise/meshwise.hpp>

#include <cstdlib>

namespace mw = meshwise;

namespace {
struct Keeper {
  mw::Array x;
  mw::Tree tree;
  ~Keeper() {
    if (!(x.shape() == mw::Shape{8, 3}) || !x.committed()) std::abort();
    try {
      x + 1;
      std::abort();
    } catch (const mw::Error&) {
    }
  }
};
Keeper keeper;
}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  keeper.x = mw::reshard(mw::device_put(mw::arange(24.0).reshape({8, 3}), mw::NamedSharding(mesh, mw::P("x"))),
                         mw::P(nullptr, "x"));  // perhaps in flight
  keeper.tree = mw::Tree{{"w", keeper.x}};
  return 0;
}

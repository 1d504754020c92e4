// U-118: static arrays, meshes and trees that outlive the Environment and MPI keep their metadata. Operations and reads of values after the end throw
// and say why, whatever kind of array it is; a LocalArray is the program's own memory.
// ranks: 1 4
// never: MPI_ABORT|after MPI_FINALIZE
#include <meshwise/meshwise.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace mw = meshwise;

namespace {

void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::abort();
}

template <class F>
void refused(const char* what, F&& read) {
  try {
    read();
  } catch (const mw::Error& error) {
    return check(std::string(error.what()).find("the Environment has ended") != std::string::npos, error.what());
  }
  check(false, what);
}

void check_reads(const mw::Array& x) {
  refused("view", [&] { x.view<double>(); });
  refused("local_value", [&] { x.local_value(); });
  refused("addressable_shards", [&] { x.addressable_shards(); });
  refused("addressable_data", [&] { x.addressable_data(0); });
  refused("global_shards", [&] { x.global_shards(); });
  refused("to_string", [&] { to_string(x); });
  refused("format", [&] { return fmt::format("{}", x); });
  refused("block_until_ready", [&] { mw::block_until_ready(x); });
  refused("device_get", [&] { mw::device_get(x); });
  refused("device_get to one", [&] { mw::device_get(x, 0); });
  refused("add", [&] { x + 1; });
}

struct Keeper {
  mw::Array x, recipe, everywhere, one;
  mw::Tree tree;
  mw::LocalArray values;
  ~Keeper() {
    check(x.shape() == mw::Shape{8, 4} && x.dtype() == mw::float64 && x.ndim() == 2 && x.nbytes() == 256, "shape and dtype");
    check(x.committed() && x.sharding().spec() == mw::P(nullptr, "x"), "sharding");
    check(type_string(x) == "float64[8,4@x]" && to_string(tree) == "{'w': float64[8,4@x]}", "type_string");
    check_reads(x);
    check_reads(recipe);
    check_reads(everywhere);
    refused("item", [&] { one.item<double>(); });
    check(values.view<double>()[31] == 31, "a LocalArray");
    x.free();
  }
};
Keeper keeper;

}  // namespace

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  keeper.recipe = mw::arange(32, mw::float64).reshape({8, 4});
  keeper.everywhere = mw::asarray(mw::device_get(keeper.recipe));
  keeper.one = mw::sum(keeper.recipe);
  const auto rows = mw::device_put(keeper.recipe, mw::NamedSharding(mesh, mw::P("x")));
  keeper.values = mw::device_get(rows);
  keeper.x = mw::reshard(rows, mw::P(nullptr, "x"));  // perhaps in flight
  keeper.tree = mw::Tree{{"w", keeper.x}};
  return 0;
}

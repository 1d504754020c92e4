// U-019: each rank asks a sharded array for a slice of its own. All are told, and none is handed a mixture of the others' rows.
// ranks: 4
// env: MESHWISE_CHECK=lockstep
// within: 10
// prints: all ranks caught it
#include <meshwise/meshwise.hpp>

#include <cstdio>
#include <string>

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto me = mw::process_index();
  const auto mesh = mw::make_mesh({mw::process_count()}, {"x"});
  const auto x = mw::device_put(mw::full({2 * mw::process_count()}, 1e4), mw::NamedSharding(mesh, mw::P("x")));
  const auto mine = x.addressable_data(0);  // what each rank wanted is here already
  if (mine.size() != 2 || mine.view<float>()[0] != 1e4f || mine.view<float>()[1] != 1e4f) return 1;
  bool caught = false;
  try {
    mw::block_until_ready(x[mw::Slice(2 * me, 2 * me + 2)]);
  } catch (const mw::MismatchError& error) {
    const std::string text = error.what();
    caught = true;
    for (const auto* word : {"rank 0 called", "rank 1 called", "getitem float32[8]", "the same arguments"})
      caught = caught && text.find(word) != std::string::npos;
    if (!caught) std::fprintf(stderr, "%s\n", text.c_str());
  }
  if (!caught) return 2;
  if (me == 0) std::puts("all ranks caught it");
}

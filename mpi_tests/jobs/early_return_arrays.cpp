// One rank returns from main, its arrays gone, while the others go on working on arrays that it has a part of.
// ranks: 2 4 8
// exit: nonzero
// within: 5
// prints: rank 1 ended its Environment while rank [0-9]+ is in #[0-9]+ (reshard|add) float32.512,512.*, which needs it
// never: terminate called
// leaves: nothing
#include "support/row_major_numbers.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  auto x = mw::device_put(support::numbered({512, 512}, mw::float32), mw::NamedSharding(support::line(mw::process_count()), mw::P("x")));
  for (int k = 0; k < 40; ++k) {
    if (k == 20 && mw::process_index() == 1) return 0;
    x = mw::reshard(x + 1.0F, k % 2 == 0 ? mw::P(mw::none, "x") : mw::P("x"));
  }
  mw::print("{}\n", mw::sum(x).item<float>());
}

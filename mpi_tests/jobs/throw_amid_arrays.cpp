// A rank throws out of main in the middle of work on arrays, whose next step all others need it for: the job ends with its words, said once.
// ranks: 2 4 8
// hosts: 2x2
// exit: nonzero
// within: 5
// once: the words of the last rank
// never: terminate called
// leaves: nothing
#include "support/row_major_numbers.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  auto x = mw::device_put(support::numbered({512, 512}, mw::float32), mw::NamedSharding(support::line(mw::process_count()), mw::P("x")));
  for (int k = 0; k < 40; ++k) {
    if (k == 20 && mw::process_index() == mw::process_count() - 1) throw mw::ShapeError("the words of the last rank");
    x = mw::reshard(x + 1.0F, k % 2 == 0 ? mw::P(mw::none, "x") : mw::P("x"));
  }
  mw::print("{}\n", mw::sum(x).item<float>());
}

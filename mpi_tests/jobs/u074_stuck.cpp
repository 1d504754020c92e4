// U-074: a rank that lives but is stuck. At the limit the user set the others say which call, of what, waits for whom, and the job ends.
// ranks: 3
// env: MESHWISE_TIMEOUT=3
// exit: nonzero
// within: 12
// prints: rank 0 has waited [0-9.]+ s in #7 reshard float32.6,9. P.'x',. on .0, 1, 2. to P.None, 'x'. on .0, 1, 2.
// prints: rank 2 has waited [0-9.]+ s in #7 reshard float32.6,9. P.'x',. on .0, 1, 2. to P.None, 'x'. on .0, 1, 2.
// prints: for rank 1 .outside the library. last call #6 reshard float32.6,9.
// prints: MESHWISE_TIMEOUT is 3 s
#include <unistd.h>

#include "support/row_major_numbers.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  auto x = mw::device_put(support::numbered({6, 9}, mw::float32), mw::NamedSharding(support::line(3), mw::P("x")));
  for (int k = 0; k < 5; ++k) {
    if (k == 4 && mw::process_index() == 1) sleep(60);
    x = mw::reshard(x, k % 2 == 0 ? mw::P(mw::none, "x") : mw::P("x"));
    mw::block_until_ready(x);
  }
}

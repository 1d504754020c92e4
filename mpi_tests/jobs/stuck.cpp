// U-074: a rank that lives but is stuck. At the limit the user set the others say which call, of what, waits for whom, and the job ends.
// ranks: 3
// env: MESHWISE_TIMEOUT=3
// exit: nonzero
// within: 12
// prints: rank 0 has waited [0-9.]+ s in #4 reshard float32.8,16. P.'x',. to P.None, 'x'. on devices .0, 1, 2.
// prints: rank 2 has waited [0-9.]+ s in #4 reshard float32.8,16. P.'x',. to P.None, 'x'. on devices .0, 1, 2.
// prints: rank 1 .outside the library. last call #3 reshard
// prints: MESHWISE_TIMEOUT is 3 s
#include <unistd.h>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  for (int k = 0; k < 5; ++k) {
    if (k == 4 && meshwise::process_index() == 1) sleep(60);
    const meshwise::detail::Call call{.operation = "reshard", .hash = 7, .shape = &support::some_shape()};
    const meshwise::DeviceList world = meshwise::devices();
    auto ticket = meshwise::detail::enter_call(call, {&world});
    meshwise::detail::describe(ticket, "P('x',) to P(None, 'x') on devices [0, 1, 2]");
    const auto n = meshwise::process_count(), me = meshwise::process_index();
    std::vector<support::Exchange> sends, receives;
    std::vector<int> in(3), out(3);
    for (std::int64_t r = 0; r < n; ++r) {
      if (r == me) continue;
      sends.push_back({r, {support::run_of(reinterpret_cast<std::byte*>(&out[static_cast<std::size_t>(r)]), 4)}});
      receives.push_back({r, {support::run_of(reinterpret_cast<std::byte*>(&in[static_cast<std::size_t>(r)]), 4)}});
    }
    meshwise::detail::post(ticket, sends, receives, {})->wait();
  }
}

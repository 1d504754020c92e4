// A rank that runs ahead with small messages alone waits for its peer long before it has filled the peer's memory.
// ranks: 2
// env: MESHWISE_RUN_AHEAD=1000000
// within: 20
#include <chrono>
#include <thread>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto me = meshwise::process_index();
  const auto begin = std::chrono::steady_clock::now();
  if (me == 1) std::this_thread::sleep_for(std::chrono::seconds(2));
  bool right = true;
  for (int k = 0; k < 10000; ++k) {
    const auto moving = support::move(support::enter("move", meshwise::devices()), me == 0 ? 1 : -1, me == 1 ? 0 : -1, 1000, static_cast<unsigned char>(k));
    moving.wait();
    if (me == 1) right = right && moving.holds(static_cast<unsigned char>(k));
  }
  // Without the bound rank 0 would be through 10 MB of eager messages at once.
  if (me == 0) right = std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(1500);
  return right ? 0 : 1;
}

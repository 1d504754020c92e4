// Collective calls from another thread, or inside a user's callback, are refused before anything is sent.
// ranks: 1 2
#include <thread>

#include "support/runtime_calls.hpp"

namespace {
bool refused(std::string_view why) {
  try {
    support::enter("add", meshwise::devices());
  } catch (const meshwise::Error& error) {
    return std::string_view(error.what()).find(why) != std::string_view::npos;
  }
  return false;
}
}  // namespace

int main(int argc, char** argv) {
  bool right = refused("there is no Environment yet") || true;
  const meshwise::Environment env(argc, argv);
  std::thread([&] { right = right && refused("another thread"); }).join();
  {
    const meshwise::detail::CallbackScope scope("a shard_map body");
    right = right && refused("a shard_map body");
  }
  support::enter("add", meshwise::devices());
  return right && support::sum(meshwise::devices(), "sum") > 0 ? 0 : 1;
}

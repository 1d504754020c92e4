// Collective calls before the Environment, from another thread, or inside a user's callback, are refused before anything is sent.
// ranks: 1 2
#include <meshwise/meshwise.hpp>

#include <cstdio>
#include <string>
#include <thread>

#include "support/runtime_calls.hpp"

namespace mw = meshwise;

namespace {
template <class F>
bool refused(std::string_view why, F&& call) {
  std::string words = "nothing";
  try {
    call();
  } catch (const mw::Error& error) {
    words = error.what();
  }
  const bool right = words.find(why) != std::string::npos;
  if (!right) std::fprintf(stderr, "%s\n", words.c_str());
  return right;
}
}  // namespace

int main(int argc, char** argv) {
  const auto create = [] { mw::arange(4); };
  bool right = refused("arange: there is no Environment yet", create);
  right = refused("no Environment exists yet", [] { mw::devices(); }) && right;
  const mw::Environment env(argc, argv);
  std::thread([&] { right = refused("another thread", create) && right; }).join();
  {
    const mw::detail::CallbackScope scope("a shard_map body");
    right = refused("a shard_map body", create) && right;
  }
  const auto n = mw::process_count();
  return right && support::sum(mw::devices(), "sum") == n * (n + 1) / 2 ? 0 : 1;
}

// A second Environment, beside the first or after its end, is refused with a sentence; what outlives the first keeps quiet.
// ranks: 1 2
#include <cstdio>
#include <optional>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  int refused = 0;
  std::optional<meshwise::Environment> env;
  env.emplace(argc, argv);
  const meshwise::DeviceList world = meshwise::devices();
  const auto block = meshwise::detail::block_store().allocate(1 << 20);
  try {
    const meshwise::Environment beside;
  } catch (const meshwise::Error&) {
    ++refused;
  }
  const auto rank = meshwise::process_index();
  env.reset();
  try {
    const meshwise::Environment after;
  } catch (const meshwise::Error&) {
    ++refused;
  }
  try {
    support::enter("add", world);
  } catch (const meshwise::Error& error) {
    refused += std::string(error.what()).find("the Environment has ended") != std::string::npos ? 1 : 0;
  }
  return refused == 3 && meshwise::process_index() == rank ? 0 : 1;
}

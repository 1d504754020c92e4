// Two ranks take different branches into operations of equal size and shape: MismatchError with both calls, never each other's data.
// ranks: 2
// within: 10
// prints: both ranks caught it
#include <meshwise/meshwise.hpp>

#include <cstdio>
#include <string>

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto mesh = mw::make_mesh({2}, {"x"});
  const auto x = mw::device_put(mw::arange(16.0).reshape({4, 4}), mw::NamedSharding(mesh, mw::P("x")));
  const auto y = mw::process_index() == 0 ? x + 1.0f : x - 1.0f;
  bool caught = false;
  try {
    mw::block_until_ready(mw::reshard(y, mw::P(nullptr, "x")));
  } catch (const mw::MismatchError& error) {
    const std::string text = error.what();
    caught = text.find("add float32[4,4]") != std::string::npos && text.find("subtract float32[4,4]") != std::string::npos &&
             text.find("reshard") != std::string::npos;
    if (!caught) std::fprintf(stderr, "%s\n", text.c_str());
  }
  if (!caught) return 1;
  if (mw::process_index() == 0) std::puts("both ranks caught it");
}

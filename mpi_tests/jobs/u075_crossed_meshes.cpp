// U-075 with arrays: ranks move arrays of two meshes in different orders, and each waits for the other for ever. Both calls are named, on every rank.
// ranks: 4
// within: 10
// prints: all ranks caught it
#include <cstdio>
#include <string>

#include "support/row_major_numbers.hpp"

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto me = mw::process_index();
  const auto four = support::line(4), two = mw::make_mesh({2}, {"y"}, {.devices = mw::DeviceList{0, 2}});
  const auto a = mw::device_put(support::numbered({8, 8}, mw::float32), mw::NamedSharding(four, mw::P("x")));
  const auto b = mw::device_put(support::numbered({6, 6}, mw::float32), mw::NamedSharding(two, mw::P("y")));
  const auto turn_a = [&] { mw::block_until_ready(mw::reshard(a, mw::P(mw::none, "x"))); };
  const auto turn_b = [&] { mw::block_until_ready(mw::reshard(b, mw::P(mw::none, "y"))); };
  bool caught = false;
  try {
    if (me < 2) turn_a();
    turn_b();
    if (me >= 2) turn_a();
    mw::barrier();
  } catch (const mw::MismatchError& error) {
    const std::string words = error.what();
    caught = words.find("reshard float32[8,8]") != std::string::npos && words.find("reshard float32[6,6]") != std::string::npos;
    if (!caught) std::fprintf(stderr, "%s\n", words.c_str());
  }
  if (!caught) return 1;
  if (me == 0) std::puts("all ranks caught it");
}

// Two ranks diverge into operations of equal size and shape that exchange data: both calls are named, on every rank, and no data is
// handed over.
// ranks: 2 4
// hosts: 2x2 4x1
// within: 10
// prints: all ranks caught it
#include <cstdio>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto me = meshwise::process_index();
  const meshwise::DeviceList world = meshwise::devices();
  bool caught = false;
  support::Moving moving;
  try {
    const auto ticket = support::enter(me == 0 ? "add" : "mul", world);
    moving = support::move(ticket, me == 0 ? 1 : me == 1 ? 0 : -1, me == 0 ? 1 : me == 1 ? 0 : -1, 512, static_cast<unsigned char>(9 + me));
    std::memset(moving.in->data(), 1, moving.in->size());
    moving.wait();
    for (int k = 0; k < 1000; ++k) meshwise::barrier();  // the ranks beside the two meet the failure at a later call
  } catch (const meshwise::MismatchError& error) {
    const std::string words = error.what();
    caught = words.find("rank 0 called #0 add float32[8,16]") != std::string::npos &&
             words.find("rank 1 called #0 mul float32[8,16]") != std::string::npos;
    if (!caught) std::fprintf(stderr, "%s\n", words.c_str());
  }
  if (!caught || (me < 2 && moving.holds(static_cast<unsigned char>(10 - me)))) return 1;
  try {
    support::enter("later", world);
    return 2;
  } catch (const meshwise::MismatchError&) {
  }
  if (me == 0) std::puts("all ranks caught it");
}

// U-075: ranks use two groups in different orders. Each waits for the other for ever: proven by asking, not by a time limit.
// ranks: 4
// within: 10
// prints: all ranks caught it
#include <cstdio>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  const auto me = meshwise::process_index();
  const meshwise::DeviceList four = meshwise::devices(), two{0, 2};
  bool caught = false;
  try {
    if (me < 2) support::sum(four, "sum of four");
    if (me % 2 == 0) support::sum(two, "sum of two");
    if (me >= 2) support::sum(four, "sum of four");
    meshwise::barrier();
  } catch (const meshwise::MismatchError& error) {
    const std::string words = error.what();
    caught = words.find("#0 sum of two") != std::string::npos && words.find("#0 sum of four") != std::string::npos;
    if (!caught) std::fprintf(stderr, "%s\n", words.c_str());
  }
  if (!caught) return 1;
  if (me == 0) std::puts("all ranks caught it");
}

// A rank that is killed: the job ends in seconds, and somebody says which rank died and what waited for it.
// ranks: 2 4 8
// hosts: 2x2
// exit: nonzero
// within: 5
// once: rank 1 died
// leaves: nothing
#include <unistd.h>
#include <csignal>

#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  meshwise::barrier();
  if (meshwise::process_index() == 1) {
    usleep(200'000);
    kill(getpid(), SIGKILL);
  }
  support::sum(meshwise::devices(), "sum");
}

// A program for eight devices, started with two: one sentence says what it needs, what there is, and the command.
// ranks: 2
// exit: nonzero
// within: 5
// once: make_mesh: axis sizes (4, 2) need 8 devices, but there are 2; start the program with mpirun -n 8
// once: meshwise:
// once: mpirun
// never: MPI_ABORT|terminate called|ended by signal
#include <meshwise/meshwise.hpp>

namespace mw = meshwise;

int main(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const auto mesh = mw::make_mesh({4, 2}, {"data", "model"});
  mw::print("{}\n", mw::zeros({8, 16}).sharding());
}

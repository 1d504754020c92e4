#pragma once
// Our side of a peer that is another job (benchmarks/peers/rounds.py): a round for every line `go` on standard input.

#include <meshwise/meshwise.hpp>

#include <mpi.h>
#include <unistd.h>

#include <iostream>
#include <string>

namespace bench {

/// Whether another round is wanted. The ranks sleep meanwhile: the peer has the machine.
inline bool asked() {
  int go = 0;
  if (std::string line; meshwise::process_index() == 0) go = std::getline(std::cin, line) && line.starts_with("go") ? 1 : 0;
  MPI_Request request;
  MPI_Ibcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) usleep(500);
  return go == 1;
}

}  // namespace bench

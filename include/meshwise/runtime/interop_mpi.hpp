#pragma once
// The one opt-in header that shows MPI: `mw::Environment env(mw::communicator(comm))`.

#include <mpi.h>

#include "meshwise/runtime/environment.hpp"

namespace meshwise {

/// Local. Wraps an MPI communicator for Environment; it is duplicated there, never freed.
inline detail::CommunicatorHandle communicator(const MPI_Comm& comm) { return {&comm}; }

/// Local. The library's own duplicate: for querying size and rank; library traffic travels on others.
MPI_Comm world_communicator();

}  // namespace meshwise

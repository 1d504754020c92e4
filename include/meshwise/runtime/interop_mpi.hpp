#pragma once
// The one opt-in header that shows MPI: `mw::Environment env(comm)`.

#include <mpi.h>

#include "meshwise/runtime/environment.hpp"

namespace meshwise {

namespace detail {
template <>
struct IsCommunicator<MPI_Comm> : std::true_type {};
}  // namespace detail

/// Local. The library's own duplicate: for querying size and rank; library traffic travels on others.
MPI_Comm world_communicator();

}  // namespace meshwise

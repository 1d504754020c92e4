#pragma once
// MPI's beginning and end, where the library is the one to begin it.

#include <mpi.h>

#include <map>
#include <string>

namespace meshwise::detail {

/// Local. Initialises MPI for threads, unless somebody has. Throws: Error when MPI has been finalized.
void begin_mpi(int* argc, char*** argv);
bool mpi_is_ours();
/// Local. Finalizes MPI if it is ours.
void finalize_mpi();

/// Collective over `base`. Rank 0's MESHWISE_* variables.
std::map<std::string, std::string> settings_of_first(MPI_Comm base);

}  // namespace meshwise::detail

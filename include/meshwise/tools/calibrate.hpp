#pragma once
// The link figures that estimates of time rest on: measured once, kept in a file.

#include <string>

#include "meshwise/plan/links.hpp"

namespace meshwise {

/// Synchronising. Measures memory, MPI on a node and the network between nodes with all ranks of the job, in about half a second, and keeps the figures
/// for later runs in links_path(); a way the job does not have keeps what the file said of it. The same figures on every rank, and from here on links().
/// Throws, on every rank: Error when the file cannot be written (the figures hold in this run nevertheless).
Links calibrate();

/// Local. The figures calibrate() measured in this run or an earlier one; the defaults where the file is missing, unreadable or damaged. Read once.
Links links();

/// Local. $MESHWISE_CALIBRATION, else $XDG_CACHE_HOME/meshwise/links.json, else ~/.cache/meshwise/links.json; empty where none of them is set.
std::string links_path();

/// Local. A table of the figures, and which of them are defaults.
std::string to_string(const Links& links);

}  // namespace meshwise

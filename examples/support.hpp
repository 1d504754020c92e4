#pragma once
// What the examples share: the sentence for too few ranks.

#include <meshwise/meshwise.hpp>

/// Whether there are `needed` devices; if not, rank 0 says what to do.
inline bool enough_devices(std::int64_t needed, const char* program) {
  const auto here = meshwise::devices().size();
  if (here >= needed) return true;
  meshwise::print("{0} needs {1} devices and there are {2}: start it with scripts/run_mpirun.sh -n {1} build/examples/{0}\n", program, needed, here);
  return false;
}

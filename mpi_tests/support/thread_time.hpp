#pragma once
// CPU time of a thread, for bounds that a busy machine doesn't move.

#include <ctime>

namespace support {

/// How much longer a sanitizer may take.
#ifdef MESHWISE_SANITIZED
inline constexpr double slow = 20;
#else
inline constexpr double slow = 1;
#endif

inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace support

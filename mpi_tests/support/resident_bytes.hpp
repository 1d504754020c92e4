#pragma once
// What this process has in memory.

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace support {

inline std::int64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace support

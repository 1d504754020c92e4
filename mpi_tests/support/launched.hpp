#pragma once
// For jobs that launch others: whose environment is the user's alone, with nothing of this job's.

#include <cstdio>
#include <cstdlib>
#include <string>

namespace support {

/// Local. Runs `words` under the launcher with these settings (KEY=VALUE ...) and options; whether it ended well.
inline bool launched(const std::string& settings, const std::string& words) {
  const std::string command = "env -i PATH=\"$PATH\" HOME=\"$HOME\" ASAN_OPTIONS=\"$ASAN_OPTIONS\" LSAN_OPTIONS=\"$LSAN_OPTIONS\" MESHWISE_NO_BUILD=1 " + settings + " " +
                              MESHWISE_SOURCE_DIR + "/scripts/run_mpirun.sh " + words;
  const int code = std::system(command.c_str());
  std::printf("%s %s: code %d\n", settings.c_str(), words.c_str(), code);
  return code == 0;
}

}  // namespace support

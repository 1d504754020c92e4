#pragma once
// Is a step what was saved? Every byte of every file is compared with the checksums, by plain system calls, and all damage is told. Local.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace meshwise::detail {

/// Local. One thing that is wrong.
struct Damage {
  std::string file{};                  // relative to the step's folder
  std::int64_t block = -1;             // counted through the file's runs; -1: no one block
  std::int64_t offset = 0, bytes = 0;  // of the file, where the damage is known to lie
  std::vector<std::string> arrays{};   // with elements there
  std::string words{};
};
/// Local. `shards/00001.h5, block 3, bytes 4096 to 8192, array w: the checksum is ...`.
std::string to_string(const Damage& damage);

struct VerifyReport {
  std::int64_t step = -1;                         // as COMMIT has it
  std::int64_t files = 0, blocks = 0, bytes = 0;  // that were read
  std::vector<Damage> damage{};
  bool good() const { return damage.empty(); }
};

/// Local. Reads all of a step's folder, telling `between` how many bytes it read of how many. What is damaged is reported and never thrown, whatever it is.
VerifyReport verify_step(const std::string& folder, const std::function<void(std::int64_t done, std::int64_t total)>& between = {});

}  // namespace meshwise::detail

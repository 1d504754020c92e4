#pragma once
// What arrays cost this rank in memory.

#include <cstdint>
#include <string>

namespace meshwise {

/// Local. Bytes on this rank. A block that a node's ranks share counts for each that holds it in `live`, and once, for its owner, in `physical`: of
/// float64[131072] replicated over the four ranks of a node, each has 1 MiB live, and one has 1 MiB physical. Blocks below 256 KiB share pages, which
/// `physical` counts whole.
struct MemoryStats {
  std::int64_t live = 0;           // of blocks that arrays on this rank hold
  std::int64_t peak = 0;           // the most that `live` has been
  std::int64_t physical = 0;       // of this rank's own memory behind blocks, whoever holds them
  std::int64_t physical_peak = 0;  // the most that blocks and pool have taken together
  std::int64_t pooled = 0;         // kept for later blocks
  std::string store{};             // "arena" where ranks share memory, else "private"
};
MemoryStats memory_stats();

/// Local. Gives what is pooled back to the system. Later results are made in fresh pages, several times slower.
void trim();

}  // namespace meshwise

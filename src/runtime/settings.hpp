#pragma once
// What the MESHWISE_* variables of rank 0 ask for, read once at start and the same on every rank.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/kernels/copy.hpp"

namespace meshwise::detail {

/// Local. off: no comparison of calls. ledger: what travels anyway is compared. lockstep: every call waits for its participants and
/// compares.
enum class Check : std::uint8_t { off, ledger, lockstep };

struct Settings {
  std::map<std::string, std::string> given;  // every MESHWISE_* variable, as rank 0 has it
  Check check = Check::ledger;
  std::int64_t devices_per_rank = 1;
  double timeout = 0;  // seconds a wait may last, 0: for ever
  double report_after = 30;
  std::int64_t node_size = 0;  // 0: as found
  std::vector<std::int64_t> nodes{};  // the node of each rank, over and over; empty: as found
  std::int64_t chunk_bytes = std::int64_t{1} << 20;
  std::int64_t window = 2;   // chunks in flight a pair and direction
  std::int64_t run_ahead = std::int64_t{256} << 20;
  std::uint64_t delay_seed = 0;
  std::int64_t max_communicators = 1024;
  bool progress_thread = true;
  KernelSet kernels = KernelSet::avx512;  // at most
  std::int64_t tag_bound = 0;             // 0: as MPI says
  std::int64_t memory_limit = 0;          // 0: none
  std::int64_t pool_bytes = -1;           // -1: a share of the machine's memory
  bool arena = true;                      // ranks of a node share memory
  std::int64_t failing_rank = -1;         // the tests' allocation hook: this rank's allocation number failing_allocation fails
  std::int64_t failing_allocation = 0;
  std::int64_t large_from = 0;            // the tests' size from which copies on a node are shared, cut and streamed; 0: as measured
};

/// Local. The MESHWISE_* variables of this process.
std::map<std::string, std::string> own_variables();

/// Local. Throws: Error naming the variable, its value and what it may be.
Settings parse_settings(std::map<std::string, std::string> given);

}  // namespace meshwise::detail

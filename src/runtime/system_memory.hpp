#pragma once
// What machine and control groups have.

#include <cstdint>

namespace meshwise::detail {

/// Local. Bytes that this process may still take before the machine or its control group is full; very large where nobody says.
std::int64_t memory_available();
/// Local. Bytes that machine or control group has at all.
std::int64_t memory_total();
/// Local. Of the whole machine, in bytes.
std::int64_t machine_memory();
/// Local. The control group that makes memory_total() less than the machine's; 0 where none does.
std::uint64_t control_group_id();

}  // namespace meshwise::detail

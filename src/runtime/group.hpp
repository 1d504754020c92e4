#pragma once
// Groups of processes that reduce and gather together: an ordered list of ranks, with a communicator made at first need.

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "meshwise/base/function_ref.hpp"
#include "meshwise/runtime/collectives.hpp"

namespace meshwise::detail {

struct Group {
  std::vector<int> ranks;                 // in order of first appearance in the device list
  int mine = -1;                          // this rank's place
  MPI_Comm communicator = MPI_COMM_NULL;  // null: point-to-point serves
};

/// Local. A collective's buffers and request: kept for good when a failure ends the wait, because MPI still writes there.
struct Round {
  std::vector<std::byte> mine, all;
  MPI_Request request = MPI_REQUEST_NULL;
};

struct Groups {
  std::map<std::vector<int>, std::unique_ptr<Group>> known;
  std::int64_t made = 0;
  std::vector<std::unique_ptr<Round>> abandoned;
  std::vector<MPI_Comm> spoiled;  // of groups that were forgotten with a collective under way
  Group verdicts;                 // the world's, of agreements alone: nothing else is ever under way there
};

/// Local. The distinct ranks of these devices, in order of first appearance.
std::vector<int> ranks_of(std::span<const Device> devices);
std::vector<int> ranks_of(const DeviceList& list);

/// Collective over `ranks`. The group, made at its first use by a polled roll call; beyond the cap it has no communicator.
Group& find_group(const std::vector<int>& ranks, const Ticket& ticket);

/// Collective over the group, which has a communicator. Gathers, and compares nothing. A gathering of verdicts goes on while an agreement breaks up.
void gather_all(Group& group, const void* mine, std::size_t bytes, void* out, const Ticket& ticket, FunctionRef<void()> meanwhile = {},
                bool through_agreement = false);

/// Collective over the group. Gathers small pieces with the call itself: headers are compared before anybody uses the data, so that ranks
/// which
/// made different calls all throw MismatchError with both calls' words. `out` has ranks * bytes. A call that gathers more than once
/// numbers its phases.
void gather_checked(Group& group, const void* mine, std::size_t bytes, void* out, const Ticket& ticket, std::uint32_t phase = 0);

/// Collective over the group. All members see that this rank's and member `other`'s calls differ. Throws: MismatchError, sticky on all ranks.
[[noreturn]] void throw_mismatch(Group& group, std::size_t other, const Ticket& ticket);

}  // namespace meshwise::detail

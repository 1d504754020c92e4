#pragma once
// Files fail on one rank alone: every step of a call on a file ends in all ranks knowing how it went on each.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

/// Synchronising. Runs f on every rank and hands every rank what f said on each. Throws, the same on every rank, `call` and the words of the ranks where f
/// threw: OutOfMemoryError if that is what all of them threw, else CheckpointError.
std::vector<std::string> agreed(const std::string& call, const Ticket& ticket, const std::function<std::string()>& f);

/// Synchronising. Throws, the same on every rank, MismatchError with each rank's call unless all are alike.
void same_call(const std::string& operation, const std::string& call, const Ticket& ticket);

/// Synchronising. The same for calls too long to say: `hash` stands for `lines`, the first of which that differs the error names.
void same_lines(const std::string& operation, std::uint64_t hash, const std::function<std::vector<std::string>()>& lines,
                const Ticket& ticket);

}  // namespace meshwise::detail

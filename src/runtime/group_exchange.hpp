#pragma once
// What reductions among the processes of a group have in common: who they are, and an exchange of each with all others.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "meshwise/runtime/collectives.hpp"
#include "meshwise/runtime/transport.hpp"

namespace meshwise::detail {

/// Local. Where each device of a group is: its process's place, and its place among that process's devices.
struct Members {
  std::vector<int> ranks{};
  std::vector<std::size_t> process{}, local{};  // per device
  std::vector<std::size_t> devices{};           // per process: how many
  std::size_t most = 0;

  /// Local. This process's place.
  std::size_t own() const;
  /// Local. Every process of the group can be lent this one's blocks, and lend some.
  bool all_lend_blocks() const;
};
Members members_of(std::span<const Device> group);

StridedBox dense_bytes(std::byte* base, std::int64_t bytes, const Block* block = nullptr);
/// Local. The same, lent: as the sender has it, or without memory as the receiver wants it.
StridedBox lent_bytes(std::byte* at, std::int64_t bytes, const Block* block);

using BoxesOf = std::vector<std::vector<StridedBox>>;  // by process of the group

/// Collective over the group's processes. Sends boxes to and receives some from each other process, and waits. The transfer has the blocks that were lent, in the
/// processes' order.
std::shared_ptr<Transfer> exchange_with_all(const Members& m, std::size_t me, std::uint32_t phase, BoxesOf&& to, BoxesOf&& from,
                                            std::vector<std::shared_ptr<Block>> keep, const Ticket& ticket);

}  // namespace meshwise::detail

#pragma once
// Communication among the processes of a group of devices: what reductions and shard_map use. Every wait polls.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "meshwise/placement/device.hpp"
#include "meshwise/runtime/block_store.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

/// Local. Combines `count` elements: acc[i] = acc[i] (+) in[i].
using Combine = std::function<void(std::byte* acc, const std::byte* in, std::int64_t count)>;

/// Local. Elements of one of this process's devices, dense, and the block they lie in (null: memory that no block owns).
struct LocalPart {
  std::byte* data = nullptr;
  const Block* block = nullptr;
};

/// Collective over the group's processes. Combines one block of `count` elements of `itemsize` bytes per device of `group`, in the group's order. Returns
/// the result as one new block for all of a node whose processes share its memory, where the blocks are large: each element is read once in every
/// block, by the process whose slice it is in, and written once a node. Else null, and the result, the same bits everywhere, is in every
/// block of `mine` (this process's devices of the group, in group order): small blocks travel in one all-gather on the group's communicator, large ones
/// slice by slice.
[[nodiscard]] std::shared_ptr<Block> all_reduce(std::span<const Device> group, std::span<const LocalPart> mine, std::int64_t count, std::size_t itemsize, const Combine& combine,
                const Ticket& ticket);

/// Collective over the group's processes. Each device of `group` has a dense block of `shape` elements of `itemsize` bytes; device d gets the box boxes[d] of their
/// combination, in the group's order, dense in its place of `results`. `mine` and `results` are of this process's devices of the group, in group order.
void reduce_scatter(std::span<const Device> group, std::span<const LocalPart> mine, const Shape& shape, std::size_t itemsize, std::span<const Index> boxes,
                    std::span<const LocalPart> results, const Combine& combine, const Ticket& ticket);

/// Collective over the processes of `list` (each once, in order of first appearance). Gathers `bytes` bytes of each to all: `out` has processes * bytes.
void all_gather(const DeviceList& list, const void* mine, std::size_t bytes, void* out, const Ticket& ticket);

/// Synchronising over the world. Variable-length texts of all ranks, in rank order.
std::vector<std::string> all_gather_text(const std::string& mine, const Ticket& ticket);

}  // namespace meshwise::detail

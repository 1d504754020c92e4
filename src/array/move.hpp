#pragma once
// Runs movements on this rank: turns the plan's pieces into shared blocks, local copies and messages.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "array/state.hpp"
#include "meshwise/plan/redistribution.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

/// Local. One movement into the array under construction, and this rank's shards of its source.
struct MoveJob {
  Movement movement;
  std::span<const LocalShard> source;
};

struct Moved {
  std::vector<LocalShard> shards{};
  std::shared_ptr<Transfer> transfer{};  // null when nothing is in flight
};

/// Local. Writes what comes from no device (uncommitted operands) into the fresh block of the box `held`.
using LocalWriter = std::function<void(const Index& held, const LocalArray& block)>;

/// Collective over the devices of all sources and the target. Builds this rank's shards of the array that `target` places (its views don't matter; all jobs
/// have its placement). Blocks are shared where a device already holds exactly its box, windows where a piece is most of a local block. The jobs write
/// every element. Does not wait.
Moved run_moves(std::span<const MoveJob> jobs, const End& target, Dtype dtype, const Ticket& ticket);

/// Collective. One array of `shape` from one sharding to another; describes the call.
Moved run_reshard(std::span<const LocalShard> source, const Sharding& from, const Sharding& to, const Shape& shape, Dtype dtype, const Ticket& ticket);

/// Local. One of several arrays that a call brings from one sharding to another, and this rank's shards of it.
struct Reshard {
  std::span<const LocalShard> source;
  Sharding from, to;
  Shape shape;
  Dtype dtype;
};

/// Collective. The arrays in one exchange: a message to each peer, one transfer for all; describes the call.
std::vector<Moved> run_reshards(std::span<const Reshard> all, const Ticket& ticket);

/// Local. Whether a box's window may stand for it: it is contiguous, as a slice of rows is, or the block that it keeps alive is at most twice its bytes.
bool window_is_fair(const LocalArray& window);
bool window_is_fair(const StridedBox& window, std::size_t block_bytes);

/// Local. Positions in `devices` of this rank's devices, in list order.
std::vector<std::int64_t> local_positions(const DeviceList& devices);

/// Local. The memory of a movement's box in an array's local block, which holds `held` of that array.
StridedBox box_memory(const End& end, const Index& held, const LocalArray& block, const Index& box);

/// Local. `P('x',) on [0, 1] to P(None, 'x') on [0, 1]`: a reshard in messages.
std::string reshard_words(const Sharding& from, const Sharding& to);

/// Local. Writes one element's bytes everywhere in `target`.
void fill_value(const LocalArray& target, const std::byte* value);

}  // namespace meshwise::detail

#pragma once
// What this rank does in a movement, in terms of its blocks' memory but without their addresses: made once, run with any arrays that lie alike.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "array/move.hpp"
#include "meshwise/runtime/transport.hpp"

namespace meshwise::detail {

/// Local. A box in one of the blocks that a movement knows: a shard of a job's source, or one of the new shards.
struct PlannedBox {
  StridedBox box{};         // without base and block
  std::int64_t offset = 0;  // bytes from the shard's first element
  std::int64_t job = -1;    // -1: the shard is a new one
  std::size_t shard = 0;    // its number among the job's shards, or among the new ones
  bool forwarded = false;   // from a block that is new on the sender too
  bool copied_first = false;  // lent from a block too large to keep: its elements get a block of their own
};

struct PlannedShard {
  // build: a new block. window: one on a source block. twin: another new shard's. borrow: the block of another rank.
  enum class Way : std::uint8_t { build, window, twin, borrow };
  Way way = Way::build;
  std::int64_t position = 0;
  Index held{};
  Shape shape{};
  bool fill = false;            // some elements are written by no job
  PlannedBox window{};          // way window
  std::size_t twin = 0;         // way twin
};

struct MovePlan {
  struct Peer {
    std::int64_t rank = 0;
    std::vector<PlannedBox> boxes{};
  };
  std::vector<PlannedShard> shards{};
  std::vector<Peer> sends{}, receives{};
  std::vector<std::pair<PlannedBox, PlannedBox>> copies{};  // from, to
  std::shared_ptr<const std::string> words{};               // what is said of a reshard in messages

  std::size_t bytes() const;  // of memory that the plan itself takes, about
};

/// Local. The shard is the whole of its block, row-major: plans for such shards hold for others alike.
bool lies_plainly(const LocalShard& shard);

/// Local. The plan of these jobs on this rank.
MovePlan plan_moves(std::span<const MoveJob> jobs, const End& target, Dtype dtype, bool has_fill, bool has_writer);

/// Local. The plan of a whole array's way from one sharding to another, kept for the next time: keyed by shardings, shape and item size, bounded by
/// bytes. For source blocks that are dense and whole; others are planned anew.
std::shared_ptr<const MovePlan> plan_reshard(std::span<const LocalShard> source, const Sharding& from, const Sharding& to, const Shape& shape, Dtype dtype);
inline constexpr std::size_t most_kept_plan_bytes = std::size_t{8} << 20;
/// Local. What the plans that are kept take together.
std::size_t kept_plan_bytes();

}  // namespace meshwise::detail

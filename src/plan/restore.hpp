#pragma once
// Who reads what of a checkpoint, and where it goes: each block of a file is read and checked once, whatever the layouts. Decided from what the checkpoint says of
// itself and the wanted shardings, the same on every rank.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "meshwise/base/shape.hpp"
#include "meshwise/placement/sharding.hpp"

namespace meshwise::detail {

/// Local. A box of an array as it lies in a file: row-major, from a byte on.
struct StoredPlace {
  std::int64_t file = 0, offset = 0;
  Index box{};
};

/// Local. An array to load: the part `region` of it, on `target`, which places an array of the region's shape.
struct ArrayToLoad {
  std::size_t itemsize = 1;
  std::span<const StoredPlace> stored{};
  Index region{};
  Sharding target;
};

/// Local. A run of a file, cut into blocks; they are numbered from `first_block`.
struct BlockRun {
  std::int64_t file = 0, offset = 0, bytes = 0, first_block = 0;
};

/// Local. A box of a wanted array that one rank has memory for; other ranks of its node with the same box share it.
struct Home {
  std::int64_t array = 0;
  Index box{};  // in the stored array's coordinates
  std::int64_t rank = 0;
  std::vector<std::int64_t> positions{};  // of the target's devices that hold it, all of them on the home's node
};

/// Local. Elements in one block that lie in one box of an array.
struct Segment {
  std::int64_t array = 0;
  Index box{};
  std::int64_t offset = 0;  // in the file, of the box's first element; the others follow densely
};

/// Local. A piece of a block, all of which its reader reads in order, since the checksum is the block's: `round` counts the pieces that it reads of blocks
/// that others want as well; -1: the block is for the reader alone.
struct ReadTask {
  std::int64_t file = 0, offset = 0, bytes = 0, block = 0;
  std::int64_t reader = 0, round = -1;
  bool begins_block = true, ends_block = true;
  std::vector<Segment> segments{};
};

struct RestorePlan {
  std::vector<Home> homes{};              // by array
  std::vector<std::size_t> first_home{};  // of each array, and the end
  std::vector<ReadTask> tasks{};
  std::int64_t rounds = 0;
  std::int64_t bytes_read = 0;
  std::span<const Home> homes_of(std::int64_t array) const {
    const auto a = static_cast<std::size_t>(array);
    return std::span(homes).subspan(first_home[a], first_home[a + 1] - first_home[a]);
  }
};

/// Local. Sizes in bytes: of the blocks that have a checksum, and of the pieces in which they travel.
struct ReadSizes {
  std::int64_t block = 0, piece = 0;
};

/// Local. `node_of` a rank: ranks of equal nodes share memory. A block is read by the home of most of its bytes; of equal ones by who has read least.
RestorePlan plan_restore(std::span<const ArrayToLoad> arrays, std::span<const BlockRun> runs, ReadSizes sizes,
                         const std::function<std::int64_t(std::int64_t rank)>& node_of);

}  // namespace meshwise::detail

#pragma once
// Who writes what of a checkpoint: each distinct byte once, and replicas' bytes by turns. Decided from shapes and shardings alone, the same on every rank.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/boxes.hpp"
#include "meshwise/base/dtype.hpp"
#include "meshwise/base/shape.hpp"
#include "meshwise/placement/sharding.hpp"

namespace meshwise::detail {

/// Local. An array to store. Without a sharding every rank has all its values.
struct ArrayToStore {
  Shape shape{};
  Dtype dtype = float32;
  std::optional<Sharding> sharding{};
};

/// Local. A box that one rank writes, row-major, from the shard of the device at `position` of the sharding's list (-1: it has all values).
struct StoredPiece {
  std::int64_t array = 0;
  std::int64_t writer = 0;
  std::int64_t position = -1;
  std::int64_t offset = 0;  // in bytes, in the writer's run of that dtype
  Index box{};
};

/// Local. Each writer stores the boxes of a dtype one after the other, in the arrays' order: a run of `run_bytes[writer][dtype]` bytes.
struct StoragePlan {
  std::vector<StoredPiece> pieces{};  // by array; those of an array in any order
  std::vector<std::vector<std::int64_t>> run_bytes{};
  std::vector<bool> has_dataset{};  // the arrays that other programs find by name
};

inline constexpr std::size_t dtype_count = 15;
/// Local. Boxes of at least so many bytes begin at such a multiple; replicas are not cut below `smallest_slice` bytes a writer.
inline constexpr std::int64_t aligned_from = 64 << 10, box_alignment = 4096, smallest_slice = 64 << 10;
/// Local. Arrays whose pieces are all smaller have no dataset when there are more than so many of them: HDF5 takes some 60 us for each.
inline constexpr std::int64_t small_piece = 4096, most_small_datasets = 1000;

/// Local. The plan for `ranks` ranks. A box that several ranks hold is cut along its first long axis, a slice to each; a small one goes to the holder
/// that has least to write so far. Each byte of each array is in exactly one piece.
StoragePlan plan_storage(std::span<const ArrayToStore> arrays, std::int64_t ranks);

/// Local. The elements [first, first + count) of a row-major box of that shape, as at most 2 ndim - 1 boxes in order, relative to it.
std::vector<Index> boxes_of_run(const Shape& shape, std::int64_t first, std::int64_t count);

}  // namespace meshwise::detail

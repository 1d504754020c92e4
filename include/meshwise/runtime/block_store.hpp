#pragma once
// Where bytes live. Blocks are written once by their maker, then immutable and shared.

#include <cstddef>
#include <cstdint>
#include <memory>

namespace meshwise::detail {

/// Local. Where a block lies in the memory that a node's ranks share: the place of its owner on the node (-1: private memory), and its number there.
struct BlockLocation {
  int place = -1;
  std::uint32_t number = 0;
  bool is_shared() const { return place >= 0; }
};

/// Local. A run of bytes, 64-byte aligned, freed when the last reference goes (also after the Environment ended). Another rank's block is read-only.
class Block {
 public:
  virtual ~Block() = default;
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  BlockLocation location() const { return location_; }

 protected:
  Block(std::byte* data, std::size_t size, BlockLocation location = {}) : data_(data), size_(size), location_(location) {}
  std::byte* data_;
  std::size_t size_;
  BlockLocation location_;
};

/// Local. Makes blocks: in private memory, or in the arena that the ranks of a node share.
class BlockStore {
 public:
  virtual ~BlockStore() = default;
  /// Local. A block of `bytes` bytes, contents undefined. Throws: OutOfMemoryError naming the request, what is live and the largest holders.
  virtual std::shared_ptr<Block> allocate(std::size_t bytes) = 0;
  /// Local. Gives memory kept for later blocks back to the system.
  virtual void trim() = 0;
  virtual const char* name() const = 0;
};

/// Local. The process's store.
BlockStore& block_store();

/// Local. No rank can have a block of more bytes: the least of all ranks' limits and memories, agreed at start.
std::int64_t largest_block();

}  // namespace meshwise::detail

#pragma once
// Where bytes live. Blocks are written once by their maker, then immutable and shared.

#include <cstddef>
#include <memory>

namespace meshwise::detail {

/// Local. A run of bytes, 64-byte aligned, freed when the last reference goes (also after the Environment ended).
class Block {
 public:
  virtual ~Block() = default;
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 protected:
  Block(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_;
  std::size_t size_;
};

/// Local. Makes blocks; private memory here, a node-shared arena where there is one.
class BlockStore {
 public:
  virtual ~BlockStore() = default;
  /// Local. A block of `bytes` bytes, contents undefined. Throws: OutOfMemoryError naming the request and what is live.
  virtual std::shared_ptr<Block> allocate(std::size_t bytes) = 0;
  virtual const char* name() const = 0;
};

/// Local. The process's store.
BlockStore& block_store();

}  // namespace meshwise::detail

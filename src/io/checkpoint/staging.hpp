#pragma once
// Memory of our own beside the arrays', as a block: not the store's, which belongs to the main thread.

#include <cstddef>
#include <memory>
#include <new>

#include "array/strides.hpp"
#include "meshwise/array/local_array.hpp"
#include "meshwise/runtime/block_store.hpp"

namespace meshwise::detail {

class StagingBlock final : public Block {
 public:
  explicit StagingBlock(std::size_t bytes) : Block(nullptr, bytes), memory_(static_cast<std::byte*>(::operator new(bytes, alignment))) {
    data_ = memory_.get();
  }

 private:
  // The system copies from a file into memory that begins elsewhere at less than half the speed.
  static constexpr std::align_val_t alignment{4096};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

/// Local. A dense array in a block's memory, from that byte on.
inline LocalArray dense_in(const std::shared_ptr<Block>& block, std::size_t offset, const Shape& shape, Dtype dtype) {
  return {shape, dtype, block, offset, row_major_strides(shape)};
}

}  // namespace meshwise::detail

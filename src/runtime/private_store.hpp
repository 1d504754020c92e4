#pragma once
// Blocks in this process's own memory: where ranks share none.

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/block_store.hpp"

namespace meshwise::detail {

class PrivateStore final : public PagedStore {
 public:
  std::shared_ptr<Block> allocate(std::size_t bytes) override { return make(bytes, false); }
  void trim() override;
  const char* name() const override { return "private"; }
  void release(std::byte* data, std::size_t size, std::size_t present);
  std::int64_t pooled() const { return pooled_.load(); }

  std::pair<std::shared_ptr<Block>, bool> allocate_empty(std::size_t bytes) override;
  bool take_pages(const Block& block, std::size_t offset, std::size_t bytes) override;
  bool give_back_pages(const Block& block, std::size_t offset, std::size_t bytes) override;
  void complete(const Block& block) override;

 private:
  std::shared_ptr<Block> make(std::size_t bytes, bool empty);
  struct Pages {
    std::byte* data = nullptr;
    std::size_t present = 0;  // bytes in memory
  };
  std::byte* obtain(std::size_t size, bool empty);
  std::optional<Pages> from_pool(std::size_t size);

  std::atomic<std::int64_t> pooled_{0};
  std::mutex lock_;
  std::multimap<std::size_t, Pages> pool_;  // by size class
  std::map<const std::byte*, std::int64_t> partial_;  // bytes in memory of blocks that have not all of theirs
};

/// Local. The process's; it outlives everything.
PrivateStore& private_store();

}  // namespace meshwise::detail

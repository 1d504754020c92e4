#pragma once
// Blocks in the arena: this rank's own, and other ranks' that it has been handed.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/arena.hpp"
#include "runtime/block_store.hpp"

namespace meshwise::detail {

/// Local. Address ranges that are free, joined with their neighbours.
class FreeRanges {
 public:
  FreeRanges(std::uint64_t begin, std::uint64_t end) { free_.emplace(begin, end - begin); }
  std::optional<std::uint64_t> take(std::uint64_t bytes);
  void give(std::uint64_t offset, std::uint64_t bytes);

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  // length by offset
};

class ArenaStore final : public PagedStore {
 public:
  explicit ArenaStore(Arena& arena);

  std::shared_ptr<Block> allocate(std::size_t bytes) override { return make(bytes, false); }
  void trim() override;
  const char* name() const override { return "arena"; }

  /// Local. Takes over a reference to a block of `bytes` bytes at place `location.place`. Throws: OutOfMemoryError when it can't be mapped.
  std::shared_ptr<Block> adopt(BlockLocation location, std::size_t bytes);
  /// Local. Drops a reference that came with a letter or belongs to a handle.
  void drop(BlockLocation location);

  std::pair<std::shared_ptr<Block>, bool> allocate_empty(std::size_t bytes) override;
  bool take_pages(const Block& block, std::size_t offset, std::size_t bytes) override;
  bool give_back_pages(const Block& block, std::size_t offset, std::size_t bytes) override;
  void complete(const Block& block) override;

  Arena& arena() { return arena_; }
  std::int64_t pooled() const { return pooled_.load(); }

 private:
  std::shared_ptr<Block> make(std::size_t bytes, bool empty);
  // All under the lock.
  std::optional<std::uint32_t> obtain(SizeClass size, std::size_t bytes, bool empty);
  std::optional<std::uint32_t> carve(SizeClass size);
  std::optional<std::uint32_t> fresh(SizeClass size, std::size_t bytes, bool empty);
  std::optional<std::uint32_t> new_number();
  bool fill(std::uint32_t number, std::size_t bytes);
  bool commit(std::uint64_t offset, std::uint64_t bytes);
  void take_back(std::uint32_t number);
  void give_up(std::uint32_t number);
  void empty_pool();

  struct Slab {
    std::uint64_t next = 0, end = 0;
  };
  Arena& arena_;
  std::mutex lock_;
  FreeRanges ranges_;
  std::array<std::vector<std::uint32_t>, size_class_count> free_;
  std::array<Slab, size_class_count> slabs_;
  std::vector<std::uint32_t> numbers_;
  std::uint32_t next_number_ = 0;
  std::set<std::uint32_t> partial_;  // blocks that have not all of theirs in memory
  std::atomic<std::int64_t> pooled_{0};
};

/// Local. The arena's store; null where this rank shares no memory with another.
ArenaStore* arena_store();
void set_arena_store(ArenaStore* store);

}  // namespace meshwise::detail

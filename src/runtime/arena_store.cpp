#include "runtime/arena_store.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace meshwise::detail {
namespace {

constexpr std::uint64_t slab_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t carved_below = std::uint64_t{256} << 10;  // smaller blocks share a slab, and are kept for good
constexpr std::uint64_t populated_from = std::uint64_t{1} << 20;

std::atomic<ArenaStore*> current{nullptr};

class ArenaBlock final : public Block {
 public:
  ArenaBlock(std::byte* data, std::size_t size, BlockLocation location, ArenaStore& store) : Block(data, size, location), store_(store) {
    memory_account().add(*this);
  }
  ~ArenaBlock() override {
    memory_account().remove(*this);
    store_.drop(location_);
  }

 private:
  ArenaStore& store_;
};

}  // namespace

std::optional<std::uint64_t> FreeRanges::take(std::uint64_t bytes) {
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    if (at->second < bytes) continue;
    const auto [offset, length] = *at;
    free_.erase(at);
    if (length > bytes) free_.emplace(offset + bytes, length - bytes);
    return offset;
  }
  return std::nullopt;
}

void FreeRanges::give(std::uint64_t offset, std::uint64_t bytes) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

ArenaStore::ArenaStore(Arena& arena) : arena_(arena), ranges_(arena.layout().data, arena.layout().end) {}

std::shared_ptr<Block> ArenaStore::make(std::size_t bytes, bool empty) {
  memory_account().ask(empty ? 0 : bytes);
  const auto size = size_class_for(bytes);
  std::optional<std::uint32_t> number;
  {
    const std::scoped_lock hold(lock_);
    number = obtain(size, bytes, empty);
  }
  if (!number) throw memory_account().refusal(bytes);
  const BlockLocation location{arena_.place(), *number};
  BlockHeader& header = arena_.header(location);
  header.unfinished.store(0, std::memory_order_relaxed);
  header.references.store(1, std::memory_order_relaxed);
  try {
    return std::make_shared<ArenaBlock>(arena_.own(header.offset), bytes, location, *this);
  } catch (const std::bad_alloc&) {
    drop(location);
    throw memory_account().refusal(bytes);
  }
}

std::shared_ptr<Block> ArenaStore::adopt(BlockLocation location, std::size_t bytes) {
  auto* const data = const_cast<std::byte*>(arena_.readable(location));
  if (!data) {
    drop(location);
    throw memory_account().refusal(bytes, "the system maps no more");
  }
  return std::make_shared<ArenaBlock>(data, bytes, location, *this);
}

void ArenaStore::drop(BlockLocation location) {
  if (!arena_.release(location)) return;
  const std::scoped_lock hold(lock_);
  take_back(location.number);
}

std::optional<std::uint32_t> ArenaStore::obtain(SizeClass size, std::size_t bytes, bool empty) {
  auto& free = free_[size.number];
  if (free.empty())
    for (const auto number : arena_.collect_returned()) take_back(number);
  if (!free.empty() && !empty) {
    const auto number = free.back();
    if (size.capacity < carved_below || fill(number, bytes)) {
      free.pop_back();
      return number;
    }
  }
  auto number = size.capacity < carved_below ? carve(size) : fresh(size, bytes, empty);
  if (!number && pooled_.load() > 0) {
    empty_pool();
    number = size.capacity < carved_below ? carve(size) : fresh(size, bytes, empty);
  }
  return number;
}

/// A block of the pool leaves it with as many pages in memory as it needs now: of its size class, others needed fewer.
bool ArenaStore::fill(std::uint32_t number, std::size_t bytes) {
  BlockHeader& header = arena_.header(arena_.place(), number);
  const auto there = header.present, wanted = whole_pages(bytes);
  if (there < wanted && !commit(header.offset + there, wanted - there)) return false;
  pooled_ -= static_cast<std::int64_t>(there);
  header.present = std::max(there, wanted);
  return true;
}

std::optional<std::uint32_t> ArenaStore::new_number() {
  if (!numbers_.empty()) {
    const auto number = numbers_.back();
    numbers_.pop_back();
    return number;
  }
  if (next_number_ == arena_.layout().header_count) return std::nullopt;
  return next_number_++;
}

std::optional<std::uint32_t> ArenaStore::carve(SizeClass size) {
  auto& slab = slabs_[size.number];
  if (slab.next + size.capacity > slab.end) {
    const auto bytes = std::min(slab_bytes, whole_pages(64 * size.capacity));
    const auto offset = ranges_.take(bytes);
    if (!offset) return std::nullopt;
    if (!commit(*offset, bytes)) {
      ranges_.give(*offset, bytes);
      return std::nullopt;
    }
    slab = {*offset, *offset + bytes};
  }
  const auto number = new_number();
  if (!number) return std::nullopt;
  BlockHeader& header = arena_.header(arena_.place(), *number);
  header.size_class = size.number;
  header.offset = slab.next;
  slab.next += size.capacity;
  return number;
}

std::optional<std::uint32_t> ArenaStore::fresh(SizeClass size, std::size_t bytes, bool empty) {
  const auto length = whole_pages(size.capacity), present = empty ? 0 : whole_pages(bytes);
  const auto offset = ranges_.take(length);
  if (!offset) return std::nullopt;
  const auto number = new_number();
  if (!number || (!empty && !commit(*offset, present))) {
    ranges_.give(*offset, length);
    if (number) numbers_.push_back(*number);
    return std::nullopt;
  }
  // Cleared by the kernel in one go, not page by page in the middle of a copy.
  if (empty) partial_.insert(*number);
  else if (size.capacity >= populated_from) madvise(arena_.own(*offset), present, MADV_POPULATE_WRITE);
  BlockHeader& header = arena_.header(arena_.place(), *number);
  header.size_class = size.number;
  header.offset = *offset;
  header.present = present;
  return number;
}

// Reserved now, so that a full machine is an error here and not a signal at the first touch.
bool ArenaStore::commit(std::uint64_t offset, std::uint64_t bytes) {
  const auto take = [&](std::uint64_t at, std::uint64_t length) {
    return fallocate(arena_.file(), 0, static_cast<off_t>(offset + at), static_cast<off_t>(length)) == 0;
  };
  if (!memory_account().take_from_system(bytes, take)) {
    fallocate(arena_.file(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    return false;
  }
  memory_account().back(static_cast<std::int64_t>(bytes));
  return true;
}

std::pair<std::shared_ptr<Block>, bool> ArenaStore::allocate_empty(std::size_t bytes) {
  const bool is_empty = size_class_for(bytes).capacity >= carved_below;
  return {make(bytes, is_empty), is_empty};
}

bool ArenaStore::take_pages(const Block& block, std::size_t offset, std::size_t bytes) {
  const auto number = block.location().number;
  const std::scoped_lock hold(lock_);
  if (!partial_.contains(number)) return false;
  memory_account().ask(bytes);
  BlockHeader& header = arena_.header(block.location());
  if (!commit(header.offset + offset, bytes)) throw memory_account().refusal(bytes);
  header.present += bytes;
  return true;
}

void ArenaStore::complete(const Block& block) {
  const std::scoped_lock hold(lock_);
  partial_.erase(block.location().number);
}

bool ArenaStore::give_back_pages(const Block& block, std::size_t offset, std::size_t bytes) {
  BlockHeader& header = arena_.header(block.location());
  if (capacity_of(header.size_class) < carved_below) return false;
  const std::scoped_lock hold(lock_);
  partial_.insert(block.location().number);
  fallocate(arena_.file(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(header.offset + offset), static_cast<off_t>(bytes));
  header.present -= bytes;
  memory_account().back(-static_cast<std::int64_t>(bytes));
  return true;
}

void ArenaStore::take_back(std::uint32_t number) {
  const auto& header = arena_.header(arena_.place(), number);
  if (capacity_of(header.size_class) >= carved_below) {
    const auto present = static_cast<std::int64_t>(header.present);
    if (partial_.contains(number) || pooled_.load() + present > pool_limit()) return give_up(number);
    pooled_ += present;
  }
  free_[header.size_class].push_back(number);
}

void ArenaStore::give_up(std::uint32_t number) {
  const auto& header = arena_.header(arena_.place(), number);
  const auto bytes = whole_pages(capacity_of(header.size_class));
  fallocate(arena_.file(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(header.offset), static_cast<off_t>(bytes));
  partial_.erase(number);
  memory_account().back(-static_cast<std::int64_t>(header.present));
  ranges_.give(header.offset, bytes);
  numbers_.push_back(number);
}

void ArenaStore::empty_pool() {
  for (std::uint32_t k = 0; k < size_class_count; ++k) {
    if (capacity_of(k) < carved_below) continue;
    for (const auto number : std::exchange(free_[k], {})) give_up(number);
  }
  pooled_ = 0;
}

void ArenaStore::trim() {
  const std::scoped_lock hold(lock_);
  for (const auto number : arena_.collect_returned()) take_back(number);
  empty_pool();
}

ArenaStore* arena_store() { return current.load(std::memory_order_acquire); }
void set_arena_store(ArenaStore* store) { current.store(store, std::memory_order_release); }

}  // namespace meshwise::detail

#include "meshwise/runtime/block_store.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <mutex>
#include <new>

#include "meshwise/base/error.hpp"
#include "runtime/block_store.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

constexpr std::size_t alignment = 64;
#ifdef MESHWISE_SANITIZED
constexpr std::size_t pooled_from = ~std::size_t{0};  // a sanitizer sees every block's ends only when each is its own allocation
#else
constexpr std::size_t pooled_from = std::size_t{256} << 10;
#endif
constexpr std::size_t huge_from = std::size_t{4} << 20;

// Large blocks come in sizes of four steps a doubling, so that a freed one fits the next request of about its size.
std::size_t class_of(std::size_t bytes) {
  const std::size_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

// Results in recycled pages are made several times faster than in fresh ones, which the kernel has to clear first.
class PrivateStore final : public BlockStore {
 public:
  std::shared_ptr<Block> allocate(std::size_t bytes) override;
  const char* name() const override { return "private"; }
  void release(std::byte* data, std::size_t size);

  std::atomic<std::int64_t> live{0}, peak{0}, pooled{0}, made{0};

 private:
  std::byte* obtain(std::size_t bytes);
  std::byte* from_pool(std::size_t capacity);
  void empty_pool();

  std::mutex lock_;
  std::multimap<std::size_t, std::byte*> pool_;
};

PrivateStore& store() {
  static auto* const immortal = new PrivateStore;
  return *immortal;
}

class PrivateBlock final : public Block {
 public:
  PrivateBlock(std::byte* data, std::size_t size) : Block(data, size) {}
  ~PrivateBlock() override { store().release(data_, std::max<std::size_t>(size_, 1)); }
};

std::byte* PrivateStore::from_pool(std::size_t capacity) {
  const std::scoped_lock hold(lock_);
  const auto at = pool_.find(capacity);
  if (at == pool_.end()) return nullptr;
  std::byte* data = at->second;
  pool_.erase(at);
  pooled -= static_cast<std::int64_t>(capacity);
  return data;
}

void PrivateStore::empty_pool() {
  const std::scoped_lock hold(lock_);
  for (const auto& [capacity, data] : pool_) munmap(data, capacity);
  pool_.clear();
  pooled = 0;
}

std::byte* PrivateStore::obtain(std::size_t bytes) {
  if (bytes < pooled_from) return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment}, std::nothrow));
  const std::size_t capacity = class_of(bytes);
  if (std::byte* data = from_pool(capacity)) return data;
  const auto map = [&] { return mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); };
  void* data = map();
  if (data == MAP_FAILED) {
    empty_pool();
    data = map();
    if (data == MAP_FAILED) return nullptr;
  }
  if (capacity >= huge_from) madvise(data, capacity, MADV_HUGEPAGE);
  return static_cast<std::byte*>(data);
}

std::shared_ptr<Block> PrivateStore::allocate(std::size_t bytes) {
  const Runtime& r = runtime();
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  const auto signed_size = static_cast<std::int64_t>(size);
  const auto refuse = [&](std::string_view why) -> OutOfMemoryError {
    return OutOfMemoryError(
        fmt::format("rank {}: no memory for a block of {} bytes: {}; {} bytes of blocks are live on this rank. "
                    "Drop arrays, split over more devices, or raise the limit.",
                    r.rank, bytes, why, live.load()));
  };
  if (r.rank == r.settings.failing_rank && made.fetch_add(1) + 1 == r.settings.failing_allocation) {
    throw refuse("MESHWISE_FAIL_ALLOCATION asks for this failure");
  }
  const std::int64_t limit = r.settings.memory_limit;
  if (limit > 0 && live.load() + signed_size > limit) throw refuse(fmt::format("MESHWISE_MEMORY_LIMIT is {} bytes a rank", limit));
  if (bytes > std::size_t{1} << 62) throw refuse("no machine has that much");
  std::byte* data = obtain(size);
  if (!data) throw refuse("the system refused");
  const std::int64_t now = live += signed_size;
  for (auto before = peak.load(); before < now && !peak.compare_exchange_weak(before, now);) {
  }
  try {
    return std::make_shared<PrivateBlock>(data, bytes);
  } catch (const std::bad_alloc&) {
    release(data, size);
    throw refuse("the system refused");
  }
}

void PrivateStore::release(std::byte* data, std::size_t size) {
  live -= static_cast<std::int64_t>(size);
  if (size < pooled_from) return ::operator delete (data, std::align_val_t{alignment});
  const std::size_t capacity = class_of(size);
  {
    const std::scoped_lock hold(lock_);
    if (pooled.load() + static_cast<std::int64_t>(capacity) <= runtime().settings.pool_bytes) {
      pool_.emplace(capacity, data);
      pooled += static_cast<std::int64_t>(capacity);
      return;
    }
  }
  munmap(data, capacity);
}

}  // namespace

BlockStore& block_store() { return store(); }

StoreStats store_stats() { return {store().live.load(), store().peak.load(), store().pooled.load()}; }

}  // namespace meshwise::detail

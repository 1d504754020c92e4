#include "runtime/private_store.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>

namespace meshwise::detail {
namespace {

#ifdef MESHWISE_SANITIZED
constexpr std::size_t pooled_from = ~std::size_t{0};  // a sanitizer sees every block's ends only when each is its own allocation
#else
constexpr std::size_t pooled_from = std::size_t{256} << 10;
#endif
constexpr std::size_t huge_from = std::size_t{4} << 20;

class PrivateBlock final : public Block {
 public:
  PrivateBlock(std::byte* data, std::size_t size) : Block(data, size) { memory_account().add(*this); }
  ~PrivateBlock() override {
    memory_account().remove(*this);
    private_store().release(data_, std::max<std::size_t>(size_, 1));
  }
};

std::size_t memory_of(std::size_t size) { return size < pooled_from ? size : size_class_for(size).capacity; }

std::byte* obtain_pages(std::size_t capacity, bool empty) {
  void* const at = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* const data = static_cast<std::byte*>(at);
  if (capacity >= huge_from) madvise(data, capacity, MADV_HUGEPAGE);
  // Taken now, so that the next look at the machine sees it. A kernel that doesn't know the request takes it at the first touch.
  const auto take = [&](std::uint64_t offset, std::uint64_t bytes) { return madvise(data + offset, bytes, MADV_POPULATE_WRITE) == 0 || errno != ENOMEM; };
  if (empty || memory_account().take_from_system(capacity, take)) return data;
  munmap(data, capacity);
  return nullptr;
}

}  // namespace

PrivateStore& private_store() {
  static auto* const immortal = new PrivateStore;
  return *immortal;
}

// Results in recycled pages are made several times faster than in fresh ones, which the kernel has to clear first.
std::byte* PrivateStore::from_pool(std::size_t capacity) {
  const std::scoped_lock hold(lock_);
  const auto at = pool_.find(capacity);
  if (at == pool_.end()) return nullptr;
  std::byte* data = at->second;
  pool_.erase(at);
  pooled_ -= static_cast<std::int64_t>(capacity);
  return data;
}

void PrivateStore::trim() {
  const std::scoped_lock hold(lock_);
  for (const auto& [capacity, data] : pool_) {
    munmap(data, capacity);
    memory_account().back(-static_cast<std::int64_t>(capacity));
  }
  pool_.clear();
  pooled_ = 0;
}

std::byte* PrivateStore::obtain(std::size_t bytes, bool empty) {
  if (bytes < pooled_from) {
    if (!empty && !memory_account().system_has(bytes)) {
      trim();
      if (!memory_account().system_has(bytes)) return nullptr;
    }
    return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{block_alignment}, std::nothrow));
  }
  std::byte* data = obtain_pages(memory_of(bytes), empty);
  if (!data) {
    trim();
    data = obtain_pages(memory_of(bytes), empty);
  }
  return data;
}

std::shared_ptr<Block> PrivateStore::make(std::size_t bytes, bool empty) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  memory_account().ask(empty ? 0 : bytes);
  std::byte* data = empty || size < pooled_from ? nullptr : from_pool(memory_of(size));
  if (!data) {
    data = obtain(size, empty);
    if (!data) throw memory_account().refusal(bytes);
    if (empty) {
      const std::scoped_lock hold(lock_);
      partial_[data] = 0;
    } else {
      memory_account().back(static_cast<std::int64_t>(memory_of(size)));
    }
  }
  try {
    return std::make_shared<PrivateBlock>(data, bytes);
  } catch (const std::bad_alloc&) {
    release(data, size);
    throw memory_account().refusal(bytes);
  }
}

void PrivateStore::release(std::byte* data, std::size_t size) {
  const std::size_t capacity = memory_of(size);
  if (size < pooled_from) {
    ::operator delete (data, std::align_val_t{block_alignment});
    memory_account().back(-static_cast<std::int64_t>(capacity));
    return;
  }
  auto present = static_cast<std::int64_t>(capacity);
  {
    const std::scoped_lock hold(lock_);
    if (const auto partial = partial_.find(data); partial != partial_.end()) {
      present = partial->second;
      partial_.erase(partial);
    } else if (pooled_.load() + present <= pool_limit()) {
      pool_.emplace(capacity, data);
      pooled_ += present;
      return;
    }
  }
  munmap(data, capacity);
  memory_account().back(-present);
}

std::pair<std::shared_ptr<Block>, bool> PrivateStore::allocate_empty(std::size_t bytes) {
  const bool is_empty = bytes >= pooled_from;
  return {make(bytes, is_empty), is_empty};
}

bool PrivateStore::take_pages(const Block& block, std::size_t, std::size_t bytes) {
  const std::scoped_lock hold(lock_);
  const auto partial = partial_.find(block.data());
  if (partial == partial_.end()) return false;
  memory_account().ask(bytes);
  if (!memory_account().system_has(bytes)) throw memory_account().refusal(bytes);
  partial->second += static_cast<std::int64_t>(bytes);
  memory_account().back(static_cast<std::int64_t>(bytes));
  return true;
}

void PrivateStore::complete(const Block& block) {
  const std::scoped_lock hold(lock_);
  const auto partial = partial_.find(block.data());
  if (partial == partial_.end()) return;
  memory_account().back(static_cast<std::int64_t>(memory_of(block.size())) - partial->second);
  partial_.erase(partial);
}

bool PrivateStore::give_back_pages(const Block& block, std::size_t offset, std::size_t bytes) {
  if (block.size() < pooled_from) return false;
  const std::scoped_lock hold(lock_);
  const auto partial = partial_.emplace(block.data(), static_cast<std::int64_t>(memory_of(block.size()))).first;
  madvise(block.data() + offset, bytes, MADV_DONTNEED);
  partial->second -= static_cast<std::int64_t>(bytes);
  memory_account().back(-static_cast<std::int64_t>(bytes));
  return true;
}

}  // namespace meshwise::detail

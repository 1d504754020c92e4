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
  PrivateBlock(std::byte* data, std::size_t size, std::size_t present) : Block(data, size), present_(present) { memory_account().add(*this); }
  ~PrivateBlock() override {
    memory_account().remove(*this);
    private_store().release(data_, std::max<std::size_t>(size_, 1), present_);
  }
  std::size_t present() const { return present_; }

 private:
  std::size_t present_;  // bytes in memory, when it is whole
};

bool is_pooled(std::size_t size) { return size >= pooled_from; }

std::size_t memory_of(std::size_t size) { return is_pooled(size) ? whole_pages(size) : size; }

/// Taken now, so that the next look at the machine sees it. A kernel that doesn't know the request takes it at the first touch.
bool take(std::byte* data, std::size_t bytes) {
  return memory_account().take_from_system(bytes, [&](std::uint64_t offset, std::uint64_t length) {
    return madvise(data + offset, length, MADV_POPULATE_WRITE) == 0 || errno != ENOMEM;
  });
}

std::byte* obtain_pages(std::size_t size, bool empty) {
  const auto capacity = whole_pages(size_class_for(size).capacity);
  void* const at = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* const data = static_cast<std::byte*>(at);
  if (size >= huge_from) madvise(data, whole_pages(size), MADV_HUGEPAGE);
  if (empty || take(data, whole_pages(size))) return data;
  munmap(data, capacity);
  return nullptr;
}

}  // namespace

PrivateStore& private_store() {
  static auto* const immortal = new PrivateStore;
  return *immortal;
}

// Results in recycled pages are made several times faster than in fresh ones, which the kernel has to clear first. Of its size class, other blocks needed
// fewer pages.
std::optional<PrivateStore::Pages> PrivateStore::from_pool(std::size_t size) {
  const std::scoped_lock hold(lock_);
  const auto at = pool_.find(size_class_for(size).capacity);
  if (at == pool_.end()) return std::nullopt;
  auto pages = at->second;
  const auto there = pages.present, wanted = whole_pages(size);
  if (there < wanted) {
    if (!take(pages.data + there, wanted - there)) return std::nullopt;
    memory_account().back(static_cast<std::int64_t>(wanted - there));
    pages.present = wanted;
  }
  pool_.erase(at);
  pooled_ -= static_cast<std::int64_t>(there);
  return pages;
}

void PrivateStore::trim() {
  const std::scoped_lock hold(lock_);
  for (const auto& [capacity, pages] : pool_) {
    munmap(pages.data, whole_pages(capacity));
    memory_account().back(-static_cast<std::int64_t>(pages.present));
  }
  pool_.clear();
  pooled_ = 0;
}

std::byte* PrivateStore::obtain(std::size_t size, bool empty) {
  if (!is_pooled(size)) {
    if (!empty && !memory_account().system_has(size)) {
      trim();
      if (!memory_account().system_has(size)) return nullptr;
    }
    return static_cast<std::byte*>(::operator new (size, std::align_val_t{block_alignment}, std::nothrow));
  }
  std::byte* data = obtain_pages(size, empty);
  if (!data) {
    trim();
    data = obtain_pages(size, empty);
  }
  return data;
}

std::shared_ptr<Block> PrivateStore::make(std::size_t bytes, bool empty) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  memory_account().ask(empty ? 0 : bytes);
  auto pages = empty || !is_pooled(size) ? std::nullopt : from_pool(size);
  if (!pages) {
    pages = Pages{obtain(size, empty), memory_of(size)};
    if (!pages->data) throw memory_account().refusal(bytes);
    if (empty) {
      const std::scoped_lock hold(lock_);
      partial_[pages->data] = 0;
    } else {
      memory_account().back(static_cast<std::int64_t>(pages->present));
    }
  }
  try {
    return std::make_shared<PrivateBlock>(pages->data, bytes, pages->present);
  } catch (const std::bad_alloc&) {
    release(pages->data, size, pages->present);
    throw memory_account().refusal(bytes);
  }
}

void PrivateStore::release(std::byte* data, std::size_t size, std::size_t present) {
  if (!is_pooled(size)) {
    ::operator delete (data, std::align_val_t{block_alignment});
    memory_account().back(-static_cast<std::int64_t>(present));
    return;
  }
  const std::size_t capacity = size_class_for(size).capacity;
  auto there = static_cast<std::int64_t>(present);
  {
    const std::scoped_lock hold(lock_);
    if (const auto partial = partial_.find(data); partial != partial_.end()) {
      there = partial->second;
      partial_.erase(partial);
    } else if (pooled_.load() + there <= pool_limit()) {
      pool_.emplace(capacity, Pages{data, present});
      pooled_ += there;
      return;
    }
  }
  munmap(data, whole_pages(capacity));
  memory_account().back(-there);
}

std::pair<std::shared_ptr<Block>, bool> PrivateStore::allocate_empty(std::size_t bytes) {
  const bool is_empty = is_pooled(bytes);
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
  partial_.erase(block.data());
}

bool PrivateStore::give_back_pages(const Block& block, std::size_t offset, std::size_t bytes) {
  if (!is_pooled(block.size())) return false;
  const std::scoped_lock hold(lock_);
  const auto partial = partial_.emplace(block.data(), static_cast<std::int64_t>(static_cast<const PrivateBlock&>(block).present())).first;
  madvise(block.data() + offset, bytes, MADV_DONTNEED);
  partial->second -= static_cast<std::int64_t>(bytes);
  memory_account().back(-static_cast<std::int64_t>(bytes));
  return true;
}

}  // namespace meshwise::detail

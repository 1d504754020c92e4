#include "meshwise/runtime/partial_blocks.hpp"

#include <map>
#include <mutex>

#include "runtime/arena_store.hpp"
#include "runtime/private_store.hpp"

namespace meshwise::detail {
namespace {

/// What the account of live bytes says less (or more) of a block than its size, until it is whole or gone.
class Differences {
 public:
  void add(const Block& block, std::int64_t bytes) {
    const std::scoped_lock hold(lock_);
    of_[&block] += bytes;
    memory_account().shift(bytes);
  }
  void end(const Block& block) {
    const std::scoped_lock hold(lock_);
    if (const auto entry = of_.extract(&block)) memory_account().shift(-entry.mapped());
  }

 private:
  std::mutex lock_;
  std::map<const Block*, std::int64_t> of_;
};

Differences& differences() {
  static auto* const immortal = new Differences;
  return *immortal;
}

PagedStore& store_of(bool shared) { return shared ? static_cast<PagedStore&>(*arena_store()) : private_store(); }
PagedStore& store_of(const Block& block) { return store_of(block.location().is_shared()); }

}  // namespace

std::shared_ptr<Block> allocate_empty(std::size_t bytes) {
  auto [block, is_empty] = store_of(arena_store() != nullptr).allocate_empty(bytes);
  if (is_empty) differences().add(*block, -static_cast<std::int64_t>(bytes));
  return block;
}

void take_pages(const Block& block, std::size_t offset, std::size_t bytes) {
  if (store_of(block).take_pages(block, offset, bytes)) differences().add(block, static_cast<std::int64_t>(bytes));
}

void complete(const Block& block) {
  store_of(block).complete(block);
  differences().end(block);
}

void give_back_pages(const Block& block, std::size_t offset, std::size_t bytes) {
  if (store_of(block).give_back_pages(block, offset, bytes)) differences().add(block, -static_cast<std::int64_t>(bytes));
}

void end_partial(const Block& block) { differences().end(block); }

bool is_only_here(const Block& block) {
  if (!block.location().is_shared()) return true;
  auto& arena = arena_store()->arena();
  return block.location().place == arena.place() && arena.header(block.location()).references.load(std::memory_order_acquire) == 1;
}

}  // namespace meshwise::detail

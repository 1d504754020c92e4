#include "meshwise/runtime/partial_blocks.hpp"

#include "runtime/arena_store.hpp"
#include "runtime/private_store.hpp"

namespace meshwise::detail {

std::shared_ptr<Block> allocate_empty(std::size_t bytes) {
  auto* const shared = arena_store();
  return shared ? shared->allocate_empty(bytes) : private_blocks().allocate_empty(bytes);
}

void take_pages(const Block& block, std::size_t offset, std::size_t bytes) {
  if (block.location().is_shared()) arena_store()->take_pages(block, offset, bytes);
  else private_blocks().take_pages(block, bytes);
}

void complete(const Block& block) {
  if (block.location().is_shared()) arena_store()->complete(block);
  else private_blocks().complete(block);
}

void give_back_pages(const Block& block, std::size_t offset, std::size_t bytes) {
  if (block.location().is_shared()) arena_store()->give_back_pages(block, offset, bytes);
  else private_blocks().give_back_pages(block, offset, bytes);
}

bool is_only_here(const Block& block) {
  if (!block.location().is_shared()) return true;
  auto& arena = arena_store()->arena();
  return block.location().place == arena.place() && arena.header(block.location()).references.load(std::memory_order_acquire) == 1;
}

}  // namespace meshwise::detail

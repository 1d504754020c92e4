#pragma once
// Blocks whose memory comes and goes by pages: a donated array's, that empties while the new one fills.

#include <cstddef>
#include <memory>

#include "meshwise/runtime/block_store.hpp"

namespace meshwise::detail {

/// Local. What memory comes and goes in.
inline constexpr std::size_t page_bytes = 4096;

/// Local. A block of `bytes` bytes without memory; a small one with all of it. Throws: OutOfMemoryError.
std::shared_ptr<Block> allocate_empty(std::size_t bytes);

/// Local. Memory for bytes [offset, offset + bytes) of such a block, before they are written; whole pages, none of which has memory yet.
/// Throws: OutOfMemoryError.
void take_pages(const Block& block, std::size_t offset, std::size_t bytes);

/// Local. The block has all its memory now, and is like any other.
void complete(const Block& block);

/// Local. Nobody reads bytes [offset, offset + bytes) any more, whole pages: their memory goes back to the system.
void give_back_pages(const Block& block, std::size_t offset, std::size_t bytes);

/// Local. The block is about to be dropped as it is.
void end_partial(const Block& block);

/// Local. No other rank holds the block or is about to read it; handles of this rank are not counted.
bool is_only_here(const Block& block);

}  // namespace meshwise::detail

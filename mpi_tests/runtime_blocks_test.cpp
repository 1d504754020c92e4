// Blocks: aligned, counted, recycled within bounds; out of memory is an error that says how much is live.
// ranks: 1 2
// env: MESHWISE_MEMORY_LIMIT=1000000000
#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdio>
#include <fstream>
#include <thread>

#include "support/resident_bytes.hpp"
#include "support/runtime_calls.hpp"

namespace {

using meshwise::detail::block_store;

TEST(Blocks, AlignedAndCounted) {
  const auto before = meshwise::runtime_stats().live_bytes;
  std::vector<std::shared_ptr<meshwise::detail::Block>> blocks;
  std::int64_t bytes = 0;
  for (const std::size_t size : {1UL, 63UL, 4096UL, 300000UL, 1UL << 20, (5UL << 20) + 1}) {
    blocks.push_back(block_store().allocate(size));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back()->data()) % 64, 0U);
    EXPECT_EQ(blocks.back()->size(), size);
    std::memset(blocks.back()->data(), 1, size);
    bytes += static_cast<std::int64_t>(size);
    EXPECT_EQ(meshwise::runtime_stats().live_bytes - before, bytes);
  }
  EXPECT_GE(meshwise::runtime_stats().peak_bytes, before + bytes);
  std::thread([&] { blocks.clear(); }).join();  // handles drop on any thread
  EXPECT_EQ(meshwise::runtime_stats().live_bytes, before);
  EXPECT_EQ(block_store().allocate(0)->size(), 0U);
}

TEST(Blocks, BeyondTheLimit) {
  const auto held = block_store().allocate(600'000'000);  // untouched: it costs no memory
  try {
    block_store().allocate(500'000'000);
    FAIL() << "the limit is 1,000,000,000 bytes";
  } catch (const meshwise::OutOfMemoryError& error) {
    const std::string words = error.what();
    EXPECT_NE(words.find("a block of 500000000 bytes"), std::string::npos) << words;
    EXPECT_NE(words.find("MESHWISE_MEMORY_LIMIT is 1000000000"), std::string::npos) << words;
    EXPECT_NE(words.find("bytes of blocks are live"), std::string::npos) << words;
  }
  EXPECT_THROW(block_store().allocate(~std::size_t{0}), meshwise::OutOfMemoryError);
  EXPECT_NO_THROW(block_store().allocate(100));
}

#ifndef MESHWISE_SANITIZED  // under a sanitizer every block is its own allocation
// U-066 in small: memory of dropped blocks is used again.
TEST(Blocks, U066RecycledWithoutGrowth) {
  std::int64_t after_ten = 0;
  for (int k = 0; k < 50; ++k) {
    const auto a = block_store().allocate(8 << 20), b = block_store().allocate(6 << 20);
    std::memset(a->data(), k, a->size());
    std::memset(b->data(), k, b->size());
    if (k == 10) after_ten = support::resident_bytes();
  }
  EXPECT_LT(support::resident_bytes(), after_ten + (16 << 20));
}

TEST(Blocks, TheSamePagesComeBack) {
  std::byte* first = block_store().allocate(3 << 20)->data();
  EXPECT_EQ(block_store().allocate((3 << 20) - 4096)->data(), first);
}
#endif

}  // namespace

#pragma once
// What both stores share: sizes of blocks, and the account of what is live.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "meshwise/base/error.hpp"
#include "meshwise/base/function_ref.hpp"
#include "meshwise/runtime/block_store.hpp"
#include "meshwise/runtime/partial_blocks.hpp"
#include "runtime/ledger.hpp"

namespace meshwise::detail {

inline constexpr std::size_t block_alignment = 64;

/// Local. Sizes of blocks: multiples of 64 bytes up to 512, then four steps a doubling, so that a freed block fits the next request of about its size.
struct SizeClass {
  std::uint32_t number = 0;
  std::uint64_t capacity = 0;
};
inline constexpr std::uint32_t size_class_count = 8 + 4 * 54;  // up to 2^63 bytes
SizeClass size_class_for(std::uint64_t bytes);
std::uint64_t capacity_of(std::uint32_t size_class);

/// Local. Bytes rounded up to pages of the system.
inline std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

/// Local. What is live on this rank, and what may be.
class MemoryAccount {
 public:
  /// Local. Room for a block, or not. Throws: OutOfMemoryError where MESHWISE_MEMORY_LIMIT or the tests' MESHWISE_FAIL_ALLOCATION forbid it.
  void ask(std::size_t bytes);
  /// Local. Whether machine, control group and MESHWISE_MEMORY_LIMIT have `bytes` more. Small requests are looked at together, once they make up a mebibyte.
  bool system_has(std::uint64_t bytes);
  /// Local. Takes memory from the system by `take(offset, bytes)`, slice after slice, with a look at what is left before each: ranks that take some at the
  /// same moment see each other. False as soon as there is too little, or `take` fails: the caller gives back what it has.
  bool take_from_system(std::uint64_t bytes, FunctionRef<bool(std::uint64_t offset, std::uint64_t bytes)> take);
  /// Local. A block was made, or taken over from another rank; it is gone.
  void add(const Block& block);
  void remove(const Block& block);
  /// Local. A block that is live has so many bytes more (or fewer) than it had: it fills, or empties.
  void shift(std::int64_t bytes);
  /// Local. Memory of the system's behind blocks and pool grew or shrank.
  void back(std::int64_t bytes);
  OutOfMemoryError refusal(std::size_t bytes, std::string_view why);
  OutOfMemoryError refusal(std::size_t bytes);  // because neither the system nor MESHWISE_MEMORY_LIMIT has so many more

  std::int64_t live() const { return live_.load(); }
  std::int64_t peak() const { return peak_.load(); }
  std::int64_t backed() const { return backed_.load(); }
  std::int64_t backed_peak() const { return backed_peak_.load(); }

 private:
  std::string largest();

  std::atomic<std::int64_t> live_{0}, peak_{0}, backed_{0}, backed_peak_{0}, made_{0}, unlooked_{0};
  std::atomic<bool> over_limit_{false};  // the last look found the limit, and not the system, to have too little
  std::mutex lock_;
  struct Holder {
    std::size_t bytes = 0;
    PastCall call;
  };
  std::map<const Block*, Holder> holders_;  // large blocks only, by the calls that made them
};
MemoryAccount& memory_account();

/// Local. Bytes kept for later blocks: MESHWISE_POOL_BYTES, or this rank's share of a quarter of the memory.
std::int64_t pool_limit();

/// Local. A store whose blocks may have memory for some of their pages only: partial_blocks.hpp says what each of these does.
class PagedStore : public BlockStore {
 public:
  /// Local. The block, and whether it has no memory: small ones have.
  virtual std::pair<std::shared_ptr<Block>, bool> allocate_empty(std::size_t bytes) = 0;
  /// Local. These and the next: whether the block is one whose pages come and go.
  virtual bool take_pages(const Block& block, std::size_t offset, std::size_t bytes) = 0;
  virtual bool give_back_pages(const Block& block, std::size_t offset, std::size_t bytes) = 0;
  virtual void complete(const Block& block) = 0;
};

}  // namespace meshwise::detail

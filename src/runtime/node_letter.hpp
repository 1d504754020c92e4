#pragma once
// What a letter on a node says: which call it belongs to, and where the sender's boxes are.

#include <cstdint>
#include <string_view>
#include <vector>

#include "meshwise/runtime/sequence.hpp"
#include "meshwise/runtime/transport.hpp"
#include "runtime/arena_store.hpp"
#include "runtime/ledger.hpp"
#include "runtime/letter_box.hpp"

namespace meshwise::detail {

/// Local. A box in somebody's arena: three words (the first also says how many axes it has), then a stride (bytes) an axis.
struct PlacedBox {
  BlockLocation location;
  std::uint64_t offset = 0;  // of its first element in the block
  std::uint64_t block_bytes = 0;
  const std::int64_t* strides = nullptr;
};
std::size_t words_of(const StridedBox& box);
std::uint64_t* write_box(std::uint64_t* word, const StridedBox& box);
/// Local. Reads a box and moves on to the next.
PlacedBox read_box(const std::uint64_t*& word);

/// Local. A letter's front: what every reader looks at. The boxes follow, and then what is read only where ranks made different calls, so that those
/// cache lines stay with the sender.
struct LetterHead {
  std::uint64_t epoch = 0;
  std::uint64_t list = 0, sequence = 0, hash = 0;
  std::int64_t bytes = 0;
  std::uint32_t phase = 0, details_bytes = 0, words = 0, has_before = 0;
  std::int32_t far_place = -1;  // the boxes are in a block of their own
  std::uint32_t far_number = 0;
  std::int32_t shared_place = -1;
  std::uint32_t shared_number = 0, shared_bytes = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(LetterHead) % 8 == 0);

/// Local. A letter's end; the call's details come after it.
struct LetterEnd {
  CallWords call, before;
};
static_assert(sizeof(LetterEnd) % 8 == 0);

class LetterWriter {
 public:
  /// Local. Refers to the words.
  LetterWriter(const Ticket& ticket, const Words& words, std::uint32_t phase, std::uint64_t epoch);
  /// Local. A box in shared memory; the letter takes a reference to its block.
  void add(const StridedBox& box, const Arena& arena);
  void set_shared(const Block& block, const Arena& arena);
  std::int64_t bytes() const { return head_.bytes; }
  /// Local. Room was looked for before. Throws: OutOfMemoryError where a long letter finds no block.
  void send(LetterBox& box, ArenaStore& store);

  /// Local. Room that a letter about so many boxes needs, at most.
  static std::uint64_t most_bytes(std::size_t boxes, std::uint64_t longest);

 private:
  const Words& call_;
  std::string_view details_{};
  LetterHead head_{};
  std::vector<std::uint64_t> words_{};
};

class LetterReader {
 public:
  LetterReader(const std::byte* at, ArenaStore& store);
  /// Local. Of the letter there; reading it whole takes over its references.
  static std::uint64_t epoch_of(const std::byte* at);
  Ticket ticket() const { return {head_.list, head_.sequence, head_.hash}; }
  /// Local. What the sender says of its call.
  Words words() const;
  std::uint32_t phase() const { return head_.phase; }
  std::int64_t bytes() const { return head_.bytes; }
  /// Local. The next box; they are read in order.
  PlacedBox next() const { return read_box(word_); }
  /// Local. Drops the references of a letter that nobody will act on.
  void drop_all(ArenaStore& store) const;
  bool has_shared() const { return head_.shared_place >= 0; }
  BlockLocation shared() const { return {head_.shared_place, head_.shared_number}; }
  std::size_t shared_bytes() const { return head_.shared_bytes; }

 private:
  LetterHead head_;
  const std::byte* end_ = nullptr;  // LetterEnd
  std::shared_ptr<Block> far_{};
  mutable const std::uint64_t* word_ = nullptr;
};

}  // namespace meshwise::detail

#pragma once
// Memory that the ranks of a node share: one sparse memory file a rank, mapped by all. docs/design/009-engine.md draws it.
//
//   | control | letter boxes of this rank, one a sender | block headers | data ...................................... |
//
// The control part is mapped for writing by all, data for reading; a second mapping for writing exists only where a peer helps a copy along. Pages
// exist where they were touched, and vanish with the last process that maps them, however it ends.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "meshwise/runtime/block_store.hpp"
#include "meshwise/runtime/partial_blocks.hpp"
#include "runtime/descriptors.hpp"

namespace meshwise::detail {

/// Local. Lies in the owner's arena; every rank of the node reads and changes it. A block is free (references 0, in no list but the owner's), or lives
/// with one reference for each handle, on whatever rank, and for each letter that lends it. Whoever drops the last one puts it on the owner's list of
/// returned blocks. No lock anywhere: a process that is killed leaves none taken.
struct BlockHeader {
  std::atomic<std::uint32_t> references;
  std::atomic<std::uint32_t> unfinished;  // not 0: lent before all its parts were written; readers wait
  std::atomic<std::uint32_t> next;        // in the list of returned blocks: header number + 1
  std::uint32_t size_class;
  std::uint64_t offset;                   // of the data, in the arena
  std::uint64_t present;                  // bytes of it in memory; the owner's, of blocks that do not share a slab
  std::uint64_t reserved[4];
};
static_assert(sizeof(BlockHeader) == 64 && std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

struct ArenaLayout {
  std::uint64_t mail = 0, mail_bytes = 0;  // letter boxes: where they begin, bytes of each
  std::uint64_t headers = 0, header_count = 0;
  std::uint64_t data = 0, end = 0;
};
/// Local. The layout for `places` ranks on a node and machine memory `bytes`; the same on all of them.
ArenaLayout arena_layout(int places, std::uint64_t bytes);

/// Local. All arenas of a node as this process sees them. Mappings are never removed: handles may outlive everything.
class Arena {
 public:
  /// Local. `files[p]` is the memory file of place p. Check valid() before use.
  Arena(int place, std::vector<Descriptor> files, const ArenaLayout& layout);
  /// Local. Another place's view through the same mappings: the ranks of a node as threads of one process, for a thread sanitizer to watch.
  Arena(int place, Arena& other);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  bool valid() const { return valid_; }
  int place() const { return place_; }
  int places() const { return static_cast<int>(mates_.size()); }
  const ArenaLayout& layout() const { return layout_; }
  int file() const { return mates_[static_cast<std::size_t>(place_)].file.get(); }

  BlockHeader& header(int place, std::uint32_t number) const {
    return reinterpret_cast<BlockHeader*>(mates_[static_cast<std::size_t>(place)].control + layout_.headers)[number];
  }
  BlockHeader& header(BlockLocation block) const { return header(block.place, block.number); }
  /// Local. Lent before all its parts were written, and not whole yet.
  bool is_unfinished(BlockLocation block) const { return header(block).unfinished.load(std::memory_order_acquire) != 0; }
  /// Local. Where place `to` keeps the letters of place `from`.
  std::byte* letter_box(int to, int from) const {
    return mates_[static_cast<std::size_t>(to)].control + layout_.mail + static_cast<std::uint64_t>(from) * layout_.mail_bytes;
  }
  /// Local. A block's memory, to read or to write (of this rank's own both are the same); mapped at its first use. Null where the system refuses.
  const std::byte* readable(BlockLocation block);
  std::byte* writable(BlockLocation block);
  /// Local. This rank's own memory at an offset of its arena.
  std::byte* own(std::uint64_t offset) const { return mates_[static_cast<std::size_t>(place_)].write.load() + (offset - layout_.data); }

  /// Local. One more reference, for somebody who will drop it; the caller holds one.
  void retain(BlockLocation block) const { header(block).references.fetch_add(1, std::memory_order_relaxed); }
  /// Local. Drops a reference. True if the block is this rank's own and free now: the caller takes it back.
  bool release(BlockLocation location) const;
  /// Local. Takes the whole list of this rank's blocks that others returned.
  std::vector<std::uint32_t> collect_returned() const;

 private:
  struct ControlPage {
    std::atomic<std::uint32_t> returned;  // the list's first: header number + 1, or 0
  };
  struct Mate {
    Descriptor file;
    std::byte* control = nullptr;  // everything before the data
    std::atomic<std::byte*> read{nullptr}, write{nullptr};
  };
  ControlPage& page(int place) const { return *reinterpret_cast<ControlPage*>(mates_[static_cast<std::size_t>(place)].control); }
  std::byte* map_data(Mate& mate, bool writing) const;
  std::byte* data_of(int place, std::atomic<std::byte*> Mate::*mapping);

  int place_;
  ArenaLayout layout_;
  std::vector<Mate> mates_;
  bool valid_ = false;
};

}  // namespace meshwise::detail

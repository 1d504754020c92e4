#pragma once
// Moves boxes between processes: told what to send to whom, it packs, sends, receives and unpacks, in program order per pair.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "meshwise/base/shape.hpp"
#include "meshwise/runtime/block_store.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

/// Local. What becomes of a box that is exchanged. copy: its elements are written to the receiver's box. lend: the receiver takes the sender's block as it
/// is; its own box has no memory yet.
enum class Passing : std::uint8_t { copy, lend };

/// Local. A strided box in this process's memory: `extents` elements of `itemsize` bytes, `strides` in bytes between neighbours.
struct StridedBox {
  std::byte* base = nullptr;
  PerAxis<std::int64_t> extents{};
  PerAxis<std::int64_t> strides{};
  std::size_t itemsize = 1;
  const Block* block = nullptr;  // that it lies in; null: memory that no block owns
  Passing passing = Passing::copy;
  bool fresh = false;  // of the sender: the block is one that it receives in this very exchange
  std::int64_t bytes() const;
  /// Local. Bytes that stand together at the innermost; all of them where the box is dense.
  std::int64_t run_bytes() const;
};

/// Local. Copies a box onto another of the same extents, at memory speed where runs are long. Source and target do not overlap.
void copy_box(const StridedBox& source, const StridedBox& target);

/// Local. What one process exchanges with one peer in one call: boxes in an order both ends derive alike. Never this process itself.
struct Exchange {
  std::int64_t rank = 0;                           // the peer
  std::vector<StridedBox> boxes{};
};

/// Local. A copy within this process that belongs to an exchange.
struct LocalCopy {
  StridedBox from, to;
};

/// Local. A block that another rank of the node lent, as the receiver sees the box.
struct Adopted {
  std::shared_ptr<Block> block{};
  std::size_t offset = 0;              // of the box's first element, in bytes
  PerAxis<std::int64_t> strides{};  // in bytes
};

/// Local. Whether that rank can be lent blocks, and lend some.
bool lends_blocks_to(std::int64_t rank);

/// Local. A movement under way. Its error belongs to the arrays it makes, not to the wait that found it.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Local. Nothing left to do on this rank (or failed).
  virtual bool done() const = 0;
  /// Local. Serves all transfers until this one is done. Throws: the transfer's error (MismatchError, CollectiveError, CommunicationError).
  virtual void wait() = 0;
  /// Local. The lent blocks, in the order of the receives and their boxes; complete when the transfer is done.
  virtual const std::vector<Adopted>& adopted() const = 0;
};

/// Local. Posts sends, receives and local copies of one call and returns at once; `keep` holds the blocks until the transfer is done. May wait for older
/// transfers when a pair's run-ahead exceeds its bound. Copies alone are made at once. Where nothing remains to be done the result is nullptr.
std::shared_ptr<Transfer> post(const Ticket& ticket, std::vector<Exchange> sends, std::vector<Exchange> receives,
                               std::vector<std::shared_ptr<Block>> keep, std::vector<LocalCopy> copies = {});

/// Local. Serves transfers and failure notices a little; cheap when nothing is pending. Long kernels call it between tiles.
void poll();

}  // namespace meshwise::detail

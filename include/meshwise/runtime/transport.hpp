#pragma once
// Moves boxes between processes: told what to send to whom, it packs, sends, receives and unpacks, in program order per pair.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "meshwise/runtime/block_store.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

/// Local. A strided box in this process's memory: `extents` elements of `itemsize` bytes, `strides` in bytes between neighbours.
struct StridedBox {
  std::byte* base = nullptr;
  std::vector<std::int64_t> extents{};
  std::vector<std::int64_t> strides{};
  std::size_t itemsize = 1;
  std::int64_t bytes() const;
};

/// Local. Copies a box onto another of the same extents, at memory speed where runs are long. Source and target do not overlap.
void copy_box(const StridedBox& source, const StridedBox& target);

/// Local. What one process exchanges with one peer in one call: boxes in an order both ends derive alike. Never this process itself.
struct Exchange {
  std::int64_t rank = 0;                           // the peer
  std::vector<StridedBox> boxes{};
};

/// Local. A movement under way. Its error belongs to the arrays it makes, not to the wait that found it.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Local. Nothing left to do on this rank (or failed).
  virtual bool done() const = 0;
  /// Local. Serves all transfers until this one is done. Throws: the transfer's error (MismatchError, CollectiveError, CommunicationError).
  virtual void wait() = 0;
};

/// Local. Posts sends and receives of one call and returns at once; `keep` holds the blocks until the transfer is done. May wait for older
/// transfers when a pair's run-ahead exceeds its bound. A call with neither sends nor receives gives nullptr.
std::shared_ptr<Transfer> post(const Ticket& ticket, std::vector<Exchange> sends, std::vector<Exchange> receives,
                               std::vector<std::shared_ptr<Block>> keep);

/// Local. Serves transfers and failure notices a little; cheap when nothing is pending. Long kernels call it between tiles.
void poll();

}  // namespace meshwise::detail

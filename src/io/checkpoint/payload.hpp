#pragma once
// The values of a shard file on their way to disk: in the order of the file, checksummed as they pass. Plain system calls: any thread may run it.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "array/recipe.hpp"
#include "io/checkpoint/manifest.hpp"
#include "io/disk.hpp"
#include "meshwise/array/array.hpp"
#include "meshwise/array/local_array.hpp"
#include "plan/storage.hpp"

namespace meshwise::detail {

/// Local. A box that goes to one place of a file: bytes of an array's block, which it keeps as it is, or, where they don't stand together, what makes them.
struct PiecePayload {
  struct Apart {
    LocalArray values{};  // without memory where the recipe makes them
    Recipe recipe{};
    Index box{};  // of the recipe
  };
  std::int64_t offset = 0;
  std::span<const std::byte> bytes{};
  std::shared_ptr<const Block> block{};
  std::unique_ptr<const Apart> apart{};
};

/// Local. The values of a piece of x, which go to that place of the file.
PiecePayload payload_of(const Array& x, const StoredPiece& piece, std::int64_t offset);

class PayloadWriter {
 public:
  /// `pieces` by offset; none of them crosses the end of its run.
  PayloadWriter(DiskFile file, std::vector<StoredRun> runs, std::vector<PiecePayload> pieces);
  /// Local. Writes and syncs, calling `between` every now and then. `awaited`: the disk begins at once, which costs those who compute meanwhile more. Throws:
  /// CheckpointError. Stops early once abandon() was called.
  void run(const std::function<void()>& between, bool awaited);
  void abandon() { abandoned_ = true; }
  std::int64_t bytes_done() const { return done_; }
  std::int64_t bytes() const { return bytes_; }

  // After run():
  const std::vector<std::uint32_t>& checksums() const { return checksums_; }  // of the runs' blocks, run after run
  double write_seconds() const { return write_seconds_; }
  double sync_seconds() const { return sync_seconds_; }

 private:
  class Stream;
  DiskFile file_;
  std::vector<StoredRun> runs_;
  std::vector<PiecePayload> pieces_;
  std::atomic<bool> abandoned_ = false;
  std::atomic<std::int64_t> done_ = 0;
  std::int64_t bytes_ = 0;
  bool awaited_ = false;
  std::vector<std::uint32_t> checksums_{};
  double write_seconds_ = 0, sync_seconds_ = 0;
};

}  // namespace meshwise::detail

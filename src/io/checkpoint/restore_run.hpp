#pragma once
// Carries out a restore plan: reads blocks, checks them, and brings their elements to where they are wanted, in bounded memory beside the arrays.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "array/state.hpp"
#include "io/checkpoint/manifest.hpp"
#include "io/checkpoint/shard_files.hpp"
#include "meshwise/runtime/sequence.hpp"
#include "plan/restore.hpp"

namespace meshwise::detail {

/// Local. An array of the manifest to load: the part `region` of it.
struct Wanted {
  const StoredArray* array = nullptr;
  Index region{};
  Sharding target;
};

class RestoreRun {
 public:
  RestoreRun(const std::string& folder, const Manifest& manifest, std::vector<Wanted> wanted);
  /// Local. Memory for what this rank will have. Throws: OutOfMemoryError.
  void allocate();
  /// Collective. Reads, and exchanges with the others. A failure of this rank is kept for check(): the others get what it has, and don't wait in vain.
  void run(const std::function<void()>& between);
  /// Local. Throws: CheckpointError naming the damaged block, its file and the arrays in it, if this rank had one.
  void check() const;
  /// Collective, when no rank has failed. This rank's shards of each array.
  std::vector<std::vector<LocalShard>> shards();

  std::int64_t bytes_done() const { return done_; }
  std::int64_t bytes_to_read() const { return to_read_; }
  const RestorePlan& plan() const { return plan_; }

 private:
  std::shared_ptr<Block> fresh_staging(const ReadTask& task);
  void read(const ReadTask& task, const std::shared_ptr<Block>& staging, const std::function<void()>& between);
  LocalArray staged(const ReadTask& task, const Segment& segment, const std::shared_ptr<Block>& staging) const;
  std::shared_ptr<Transfer> exchange(const Ticket& ticket, std::span<const ReadTask* const> tasks, const std::shared_ptr<Block>& staging);
  Dtype dtype_of(const Segment& segment) const { return wanted_[static_cast<std::size_t>(segment.array)].array->dtype; }

  std::vector<Wanted> wanted_;
  RestorePlan plan_;
  std::vector<LocalArray> memory_{};  // of each home that is this rank's
  std::shared_ptr<Block> staging_{};  // for blocks that are this rank's alone
  ShardFiles files_;
  std::uint32_t checksum_ = 0;  // of the block that is being read, so far
  std::string failure_{};
  std::int64_t done_ = 0, to_read_ = 0;
};

}  // namespace meshwise::detail

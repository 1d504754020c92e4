#pragma once
// One save from its first check to its commit: what save and save_async share.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/manifest.hpp"
#include "io/checkpoint/payload.hpp"
#include "meshwise/array/tree.hpp"
#include "meshwise/io/checkpoint.hpp"
#include "plan/storage.hpp"

namespace meshwise::detail {

/// Local. A tree taken apart: what saves and loads need of it. A hash of containers, keys and types stands for it.
struct Leaves {
  explicit Leaves(const Tree& tree);
  std::vector<std::string> names{};
  std::vector<Array> arrays{};
  std::uint64_t hash = 0;
  /// Local. `['layers'][0]['w'] float32[8@x,4] on ...`: a line a leaf, for messages.
  static std::vector<std::string> lines(const Tree& tree);
};

/// Local. A save's arguments.
struct SaveRequest {
  std::string root{};
  std::int64_t step = 0;
  Leaves leaves;
  std::string tree{};  // as text, on rank 0
  io::SaveOptions options{};
  io::Retention keep{};
  std::string in_flight{};  // the uuid of the save that is committed first; empty: none

  std::string call() const { return "save(" + std::to_string(step) + ") into '" + root + "'"; }
};

/// Synchronising. Throws, the same on every rank: MismatchError naming the first thing in which ranks differ; DonatedError; CheckpointError for a
/// negative step or metadata that are no JSON.
void check_alike(const SaveRequest& request, const Tree& tree);

/// Synchronising in lockstep mode, else Local. Throws, the same on every rank: MismatchError naming array, devices and index where copies of a box differ.
void compare_replicas(const SaveRequest& request);

/// Local. A shard file as its rank has laid it out.
struct WrittenFile {
  std::int64_t rank = 0, bytes = 0;
  std::uint32_t checksum = 0;  // of all but the runs
  std::vector<StoredRun> runs{};
};

class SaveJob {
 public:
  /// Synchronising. Makes the step's folder under another name, and the files, with room for the values; holds references to the values. Throws as
  /// save does, leaving nothing behind. `prepare_folder` is called on rank 0 once the root is there.
  static std::shared_ptr<SaveJob> begin(SaveRequest request, const std::function<void()>& prepare_folder);
  ~SaveJob() { abandon(); }
  SaveJob(const SaveJob&) = delete;
  SaveJob& operator=(const SaveJob&) = delete;

  /// Local. Writes this rank's values; a failure is kept for commit(). Any thread; once. `awaited`: the program does nothing else meanwhile.
  void write(const std::function<void()>& between, bool awaited) noexcept;
  /// Local. From another thread than write()'s: it ends early.
  void stop_writing();
  io::Progress progress() const;
  const std::string& uuid() const { return uuid_; }
  /// Synchronising, after write() has ended on this rank. Throws as save does, leaving nothing behind.
  io::SaveReport commit();
  /// Local. Removes what is there, unless it was committed; write() has ended.
  void abandon() noexcept;

 private:
  explicit SaveJob(SaveRequest request) : request_(std::move(request)) {}
  void publish(std::vector<std::uint32_t> checksums);
  Manifest manifest(std::vector<std::uint32_t> checksums) const;

  SaveRequest request_;
  std::string uuid_, folder_;  // the folder's name until it is committed
  StoragePlan plan_;
  std::vector<std::int64_t> file_of_rank_;  // -1: writes nothing
  std::vector<WrittenFile> files_;
  std::optional<PayloadWriter> writer_;
  std::string failure_;
  bool done_ = false;  // committed or gone
  std::int64_t bytes_ = 0;
  double prepare_seconds_ = 0;
};

}  // namespace meshwise::detail

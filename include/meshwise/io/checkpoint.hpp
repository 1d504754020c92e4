#pragma once
// Checkpoints: a tree of arrays saved as a step that is there whole or not at all, and loaded onto any mesh.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwise/array/array.hpp"
#include "meshwise/array/tree.hpp"
#include "meshwise/base/shape.hpp"

namespace meshwise::io {

/// Local. Which steps stay when another is committed: those that one of the rules wants; all, if there is no rule. The newest always stays.
///
///     {.keep = keep_last(3) | keep_every(100) | best("loss")}
class Retention {
 public:
  enum class Order : std::uint8_t { smallest, largest };
  struct Best {
    std::string metric{};
    std::int64_t count = 1;
    Order order = Order::smallest;
  };
  std::int64_t last = 0, every = 0;  // 0: no such rule
  std::vector<Best> best{};
  bool keeps_all() const { return last == 0 && every == 0 && best.empty(); }
  friend Retention operator|(Retention a, const Retention& b);
};
/// Local. The newest `count` steps. Throws: CheckpointError unless count > 0.
Retention keep_last(std::int64_t count);
/// Local. Steps that are multiples of `steps`. Throws: CheckpointError unless steps > 0.
Retention keep_every(std::int64_t steps);
/// Local. The `count` steps whose metric of that name (SaveOptions::metrics) is least, or largest. Throws: CheckpointError unless count > 0.
Retention best(const std::string& metric, std::int64_t count = 1, Retention::Order order = Retention::Order::smallest);

/// Local. How far this rank's part of a save or a load is, in bytes.
struct Progress {
  std::string_view phase{};  // "save", "load"
  std::int64_t step = 0;
  std::int64_t done = 0, total = 0;
};

struct CheckpointOptions {
  Retention keep{};
  /// Called on each rank now and then while it saves or loads, by the thread that called save, wait or load.
  std::function<void(const Progress&)> on_progress{};
  bool bar = true;  // rank 0 draws a bar on standard error, if that is a terminal and it takes more than a second
};

struct SaveOptions {
  std::string metadata{};                   // JSON text of the program's own, kept with the step
  std::map<std::string, double> metrics{};  // numbers that best() looks at
  bool overwrite = false;                   // replace a step of that number, in one step, instead of refusing
};

/// Local. What a save did, the same on every rank. Seconds are those of the rank that took longest.
struct SaveReport {
  std::int64_t step = 0;
  std::int64_t bytes = 0;  // of values, each once
  std::int64_t files = 0;
  double seconds = 0, prepare_seconds = 0, write_seconds = 0, sync_seconds = 0, commit_seconds = 0;
  std::int64_t slowest_rank = 0;        // in writing and syncing
  std::vector<std::int64_t> removed{};  // steps that nothing wants any more
};

struct LoadOptions {
  bool missing = false;              // leaves that the checkpoint lacks, or has in another shape, keep the values of `like`
  bool extra = false;                // arrays of the checkpoint that `like` lacks are left alone
  bool convert = false;              // values of another dtype are converted (astype)
  std::vector<std::string> paths{};  // load these subtrees alone, `{"params", "optimizer/step"}`; the rest keeps the values of `like`
};

struct LoadReport {
  std::int64_t step = 0;
  std::int64_t bytes = 0;       // of the arrays that were loaded, each once
  std::int64_t bytes_read = 0;  // from files, by all ranks together
  double seconds = 0;
  std::vector<std::string> missing{}, extra{}, converted{};
  std::vector<std::string> passed_over{};  // newer steps that could not be loaded, and why
};
/// Local. The tree that was loaded, and how.
struct Loaded : Tree {
  LoadReport report{};
};

/// Local. The newest step there was, for load to begin with: `if (auto last = checkpoints.latest()) tree = checkpoints.load(last, tree);`
struct Latest {
  std::int64_t step = -1;
  explicit operator bool() const { return step >= 0; }
};

/// Local. A save in flight. When the last handle of a rank goes the save is abandoned, leaving nothing behind, unless it was committed.
class Saving {
 public:
  Saving() = default;
  /// Local. Everything of this rank is on disk (or failed): wait() will not wait for this rank.
  bool poll() const;
  /// Local. This rank's part.
  Progress progress() const;
  /// Synchronising. Waits until all ranks have written, and commits the step. Throws, the same on every rank: CheckpointError; the step then isn't there.
  /// Again after the step was committed: its report.
  SaveReport wait();
  struct State;

 private:
  friend class Checkpointer;
  explicit Saving(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// Local. When save_if_due saves: every so many steps, or after so many seconds since the last save (by rank 0's clock); 0: no such rule.
struct Due {
  std::int64_t steps = 0;
  double seconds = 0;
};

/// Local. A folder of steps: run/step_00000100/ and so on, each an HDF5 index that h5py reads as ordinary arrays, a file a rank, and a record of checksums
/// (docs/format.md). A step appears whole, when all of it is on disk, or not at all; a crash at any moment loses no earlier step.
///
///     io::Checkpointer checkpoints("run/", {.keep = io::keep_last(3)});
///     checkpoints.save(100, Tree{{"w", w}, {"b", b}});
///     auto tree = checkpoints.load(checkpoints.latest(), like);   // like's shardings, whatever ranks and meshes saved it
class Checkpointer {
 public:
  /// Synchronising. The folder need not exist: the first save makes it. What earlier crashes left in it is removed. Throws: MismatchError; CheckpointError.
  explicit Checkpointer(const std::string& folder, CheckpointOptions options = {});

  /// Synchronising. Every leaf of the tree, each distinct byte once, replicas shared out among their holders; on disk when it returns. Throws, the same
  /// on every rank, leaving nothing behind: MismatchError naming the first difference between ranks' trees, steps or options, before a file is touched;
  /// DonatedError; CheckpointError with the path and the system's words (no space, no permission, the step is there, another job saves here); OutOfMemoryError.
  SaveReport save(std::int64_t step, const Tree& tree, SaveOptions options = {});
  /// Synchronising. The same in the background: returns once it holds references to the values, which no later call changes. A save in flight is
  /// committed first. Throws as save does, here or at wait().
  [[nodiscard]] Saving save_async(std::int64_t step, const Tree& tree, SaveOptions options = {});
  /// Synchronising. Saves when `due` says so, or when a rank got SIGUSR1 or SIGTERM (what batch systems send before the end) since the last call; the
  /// first call begins to listen to them. Tells whether it saved. Throws as save does.
  bool save_if_due(std::int64_t step, const Tree& tree, Due due = {}, SaveOptions options = {});
  /// Local. A rank got SIGTERM, as of the last save_if_due: the same on every rank.
  bool stop_requested() const;

  /// Synchronising. The arrays of a step under the paths of `like`, each in its leaf's shape, dtype and sharding (uncommitted leaves come back on every
  /// rank). Checksums are compared of all that is read; a byte is read once. Throws, the same on every rank: CheckpointError listing what is missing,
  /// extra, or of another shape or dtype, or naming the damaged array, block and file; OutOfMemoryError. `like` may be what it was.
  Loaded load(std::int64_t step, const Tree& like, LoadOptions options = {});
  /// Synchronising. The same of the newest step that can be loaded; what is passed over is said on standard error, and in the report.
  Loaded load(Latest latest, const Tree& like, LoadOptions options = {});
  /// Synchronising. The whole tree of a step as it was saved; `targets` is a prefix of it, as in device_put (none: uncommitted). Throws as above.
  Loaded load(std::int64_t step, const ShardingTree& targets = {});
  /// Synchronising. One array, or the part of it that is `box`. Throws as above; IndexError for a box outside.
  Array load_array(std::int64_t step, const std::string& path, const Target& target = {}, std::optional<Index> box = {});

  /// Synchronising. The steps that are whole, in order; the newest. Throws: CheckpointError when the folder can't be read.
  std::vector<std::int64_t> steps();
  Latest latest();
  /// Synchronising. The JSON text that was saved with a step; empty if none was. Throws: CheckpointError.
  std::string metadata(std::int64_t step);
  /// Synchronising. Removes a step. Throws: CheckpointError.
  void remove(std::int64_t step);
  /// Local. The absolute path.
  const std::string& folder() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace meshwise::io

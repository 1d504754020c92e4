#pragma once
// The folder of a run: its steps, what crashes left in it, and who may change it. Local; rank 0 alone calls it.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meshwise::detail {

/// Local. `step_00000012`.
std::string step_name(std::int64_t step);
std::optional<std::int64_t> step_of(std::string_view name);

struct StepFolders {
  std::map<std::int64_t, std::string> steps{};  // number and path, committed or not
  std::vector<std::string> stale{};             // paths of saves that never came to their end, and of removals
};
/// Local. What is in the folder; nothing where there is no such folder. Throws: CheckpointError when it can't be read.
StepFolders list_steps(const std::string& root);
/// Local. The steps whose COMMIT is whole and whose files are all there, in order.
std::vector<std::int64_t> good_steps(const std::string& root);

/// Local. Held while it lives: nobody else saves into the folder or sweeps it. The system lets go of it when the process dies.
class FolderLock {
 public:
  /// Local. Nothing when another program has it. Throws: CheckpointError when the folder can't be written to.
  static std::optional<FolderLock> try_lock(const std::string& root);
  /// Local. Tries for a second: `wait` returns when what it is given holds. Throws: CheckpointError naming the program that has it.
  static FolderLock lock(const std::string& root, const std::function<void(const std::function<bool()>&)>& wait);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

/// Local. Removes what crashes left; hands back the paths. The caller has the lock.
std::vector<std::string> sweep(const std::string& root);
/// Local. First the step stops being one, in one step; then its files go. Throws: CheckpointError when it can't be renamed.
void remove_step(const std::string& path);
/// Local. Makes a whole folder the step of that number, on disk; what was there under its name is removed. Throws: CheckpointError, nothing being changed.
void put_in_place(const std::string& folder, const std::string& root, std::int64_t step);
/// Local. The folder as an absolute path, whatever the current folder will be.
std::string absolute_path(const std::string& path);
/// Local. 32 hexadecimal digits that no other save has.
std::string make_uuid();
/// Local. `2026-11-30T12:00:00Z`.
std::string utc_now();

}  // namespace meshwise::detail

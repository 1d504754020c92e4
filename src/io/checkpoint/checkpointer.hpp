#pragma once
// What a Checkpointer and the handles of its saves point to.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "io/checkpoint/save_job.hpp"
#include "io/checkpoint/steps.hpp"
#include "meshwise/io/checkpoint.hpp"

namespace meshwise::io {

struct Checkpointer::State {
  std::string root{};
  CheckpointOptions options{};
  std::optional<detail::FolderLock> lock{};  // rank 0's, from the first save on
  std::weak_ptr<Saving::State> in_flight{};
  std::chrono::steady_clock::time_point last_save = std::chrono::steady_clock::now();
  bool listens = false, stop_requested = false;
  int answered = 0;  // signals

  /// Synchronising. What save and save_async begin with: the same request on every rank, and nothing in flight any more.
  std::shared_ptr<detail::SaveJob> begin(std::int64_t step, const Tree& tree, SaveOptions save_options);
  /// Local. The path of a step.
  std::string path_of(std::int64_t step) const { return root + "/" + detail::step_name(step); }
};

struct Saving::State {
  std::shared_ptr<detail::SaveJob> job{};
  std::shared_ptr<Checkpointer::State> checkpointer{};
  std::thread thread{};
  std::atomic<bool> written = false;
  std::optional<SaveReport> report{};
  bool failed = false;

  ~State();
  /// Synchronising. Waits for the thread, then commits.
  SaveReport finish();
};

}  // namespace meshwise::io

#pragma once
// How far a save or load is, for people and programs. Local.

#include <chrono>

#include "meshwise/io/checkpoint.hpp"

namespace meshwise::detail {

/// Local. Calls the program's callback at most every tenth of a second, and at the end; draws rank 0's bar on a terminal once it takes more than a second.
class Meter {
 public:
  explicit Meter(const io::CheckpointOptions& options);
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  void show(const io::Progress& progress);

 private:
  void draw(const io::Progress& progress, double seconds);
  const io::CheckpointOptions& options_;
  std::chrono::steady_clock::time_point start_, next_;
  bool has_bar_, drawn_ = false, ended_ = false;
};

}  // namespace meshwise::detail

#pragma once
// What a run's folder must hold whatever happened to the jobs that saved into it.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "faults/grown_tree.hpp"

namespace faults {

constexpr std::int64_t kept_steps = 3;

/// Local. Names in the folder that are neither steps nor what is always there.
inline std::string leftovers(const std::string& folder) {
  std::string names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto name = entry.path().filename().string();
    const bool is_step = name.starts_with("step_") && name.find_first_not_of("0123456789", 5) == std::string::npos;
    if (!is_step && name != ".lock" && name != "latest") names += name + " ";
  }
  return names;
}

/// Local. The newest step that a saver was told is on disk; -1: none. Step k is the k-th that is saved.
inline std::int64_t acknowledged(const std::string& file) {
  std::ifstream in(file);
  std::int64_t newest = -1;
  for (std::int64_t step = 0; in >> step;) newest = std::max(newest, step);
  return newest;
}

/// Synchronising. False if it is on some rank; there the words are printed.
inline bool all_right(const std::string& words) {
  if (!words.empty()) std::fprintf(stderr, "rank %lld: WRONG: %s\n", static_cast<long long>(mw::process_index()), words.c_str());
  int right = words.empty() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return right != 0;
}

/// Synchronising. Of a saver with keep_last(kept_steps): the newest step is the acknowledged one or newer (no newer than `last`), the ones before are there,
/// and all are right. Returns the newest; -2 when something is wrong.
inline std::int64_t check_steps(mw::io::Checkpointer& checkpoints, std::uint64_t seed, std::int64_t acked, std::int64_t last) {
  const auto steps = checkpoints.steps();
  const auto newest = steps.empty() ? -1 : steps.back();
  std::string words;
  if (newest < acked || newest > last)
    words = "the newest step is " + std::to_string(newest) + ", acknowledged were those up to " + std::to_string(acked);
  for (auto step = std::max<std::int64_t>(0, newest - kept_steps + 1); step <= newest && words.empty(); ++step)
    if (std::find(steps.begin(), steps.end(), step) == steps.end()) words = "step " + std::to_string(step) + " is lost";
  if (!all_right(words)) return -2;
  const auto target = like(seed);
  for (const auto step : steps)
    if (!all_right(wrong(checkpoints.load(step, target), step))) return -2;
  if (newest >= 0 &&
      !all_right(checkpoints.load(checkpoints.latest(), target).report.step == newest ? "" : "load(latest) took another step"))
    return -2;
  return newest;
}

}  // namespace faults

// meshwise checkpoint: looks after the steps that programs save.
#include "tools/command/checkpoint.hpp"

#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "io/checkpoint/commit.hpp"
#include "io/checkpoint/steps.hpp"
#include "meshwise/base/error.hpp"
#include "tools/command/command.hpp"

namespace meshwise::command {

namespace fs = std::filesystem;

RunPath find_run(const std::string& path) {
  std::error_code error;
  auto folder = fs::path(path);
  if (!folder.has_filename()) folder = folder.parent_path();
  const auto status = fs::status(folder, error);
  if (!fs::exists(status)) throw CheckpointError(fmt::format("there is no folder '{}'", path));
  if (!fs::is_directory(status)) throw CheckpointError(fmt::format("'{}' is not a folder", path));
  // A link to a step has another name and another parent; `.` has neither.
  if (fs::is_symlink(folder, error) || folder.filename() == "." || folder.filename() == "..") folder = fs::canonical(folder);
  const bool is_step =
      fs::exists(folder / "COMMIT", error) || fs::exists(folder / "index.h5", error) || detail::step_of(folder.filename().string());
  if (!is_step) return {folder.string(), {}};
  return {folder.has_parent_path() ? folder.parent_path().string() : ".", folder.string()};
}

std::int64_t parse_step(const std::string& text) {
  const std::string_view digits = std::string_view(text).substr(text.starts_with("step_") ? 5 : 0);
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() || step < 0)
    throw Error(fmt::format("'{}' is no step: it is written as a number, as in 100", text));
  return step;
}

std::string find_step(const std::string& path, const std::string& step) {
  const auto run = find_run(path);
  if (!run.step.empty()) {
    if (!step.empty()) throw Error(fmt::format("'{}' is a step itself, and has no step {}", path, step));
    return run.step;
  }
  const auto steps = detail::list_steps(run.root).steps;
  if (steps.empty()) throw CheckpointError(fmt::format("'{}' has no steps", path));
  if (!step.empty()) {
    if (const auto found = steps.find(parse_step(step)); found != steps.end()) return found->second;
    std::vector<std::string> numbers;
    for (const auto& [number, folder] : steps) numbers.push_back(std::to_string(number));
    throw CheckpointError(fmt::format("'{}' has no step {}; it has {}", path, parse_step(step), detail::some_of(numbers)));
  }
  for (auto entry = steps.rbegin(); entry != steps.rend(); ++entry) {
    try {
      detail::read_commit(entry->second);
      return entry->second;
    } catch (const CheckpointError& e) {
      fmt::print(stderr, "meshwise: step {} is passed over: {}\n", entry->first, e.what());
    }
  }
  throw CheckpointError(fmt::format("'{}' has no step that is whole", path));
}

void add_checkpoint(CLI::App& app) {
  auto* const checkpoint =
      app.add_subcommand("checkpoint", "Look at the steps that programs save, check them, compare, export and remove them");
  checkpoint->require_subcommand(1);
  add_checkpoint_ls(*checkpoint);
  add_checkpoint_show(*checkpoint);
  add_checkpoint_verify(*checkpoint);
  add_checkpoint_diff(*checkpoint);
  add_checkpoint_stats(*checkpoint);
  add_checkpoint_export(*checkpoint);
  add_checkpoint_rm(*checkpoint);
  add_checkpoint_sweep(*checkpoint);
}

}  // namespace meshwise::command

#pragma once
// What the subcommands of `meshwise checkpoint` share: how runs and steps are named, and how tables, JSON and bars are printed.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace meshwise::command {

using nlohmann::ordered_json;

/// Local. Declare the subcommands, as add_plan does.
void add_checkpoint_ls(CLI::App& app);
void add_checkpoint_show(CLI::App& app);
void add_checkpoint_verify(CLI::App& app);
void add_checkpoint_diff(CLI::App& app);
void add_checkpoint_stats(CLI::App& app);
void add_checkpoint_export(CLI::App& app);
void add_checkpoint_rm(CLI::App& app);
void add_checkpoint_sweep(CLI::App& app);

/// Local. What a path means: a run's folder, or one of its steps' (`step` is set then; the folder may have been given any name).
struct RunPath {
  std::string root{}, step{};
};
/// Local. Throws: CheckpointError when there is no such folder, or it is neither.
RunPath find_run(const std::string& path);
/// Local. `12`, `00000012` or `step_00000012`. Throws: Error.
std::int64_t parse_step(const std::string& text);
/// Local. The folder of that step; of the newest that is whole where none is named. Throws: CheckpointError with the steps there are.
std::string find_step(const std::string& path, const std::string& step);

/// Local. Columns that line up. Cells are as wide as they are shown.
class Table {
 public:
  explicit Table(std::string sides) : sides_(std::move(sides)) {}  // `<` or `>` a column
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::string sides_;
  std::vector<std::vector<std::string>> rows_{};
};

std::string bytes_text(std::int64_t bytes);
/// Local. `1 array`, `2 arrays`.
std::string counted(std::int64_t count, const std::string& what);
/// Local. `loss=0.5, size=3`.
std::string metrics_text(const std::map<std::string, double>& metrics);
void print_json(const ordered_json& value);
/// Local. A number; those that JSON lacks as text, as in manifests: `NaN`, `Infinity`, `-Infinity`.
ordered_json json_number(double value);

/// Local. A line on a terminal's standard error about what takes more than a second.
class Bar {
 public:
  explicit Bar(std::string what);
  ~Bar();
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;
  void show(std::int64_t done, std::int64_t total);

 private:
  std::string what_;
  std::chrono::steady_clock::time_point start_, next_;
  bool terminal_, drawn_ = false;
};

}  // namespace meshwise::command

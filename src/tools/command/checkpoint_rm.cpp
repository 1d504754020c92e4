// meshwise checkpoint rm and sweep: steps go, and what crashes left.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "io/checkpoint/steps.hpp"
#include "io/disk.hpp"
#include "meshwise/base/error.hpp"
#include "tools/command/checkpoint.hpp"

namespace meshwise::command {
namespace {

struct Options {
  std::string run;
  std::vector<std::string> steps;
  bool force = false, json = false;
};

std::vector<std::string> names_of(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const auto& path : paths) names.push_back(std::filesystem::path(path).filename().string());
  return names;
}

void print_removed(const std::vector<std::string>& names, bool json) {
  if (json) return print_json({{"removed", names}});
  for (const auto& name : names) fmt::print("removed {}\n", name);
}

void rm(const Options& o) {
  const auto run = find_run(o.run);
  std::vector<std::string> folders;
  if (run.step.empty() && o.steps.empty()) throw Error("which steps? rm RUN STEP...");
  if (!run.step.empty())
    folders.push_back(find_step(o.run, o.steps.empty() ? "" : o.steps[0]));
  else
    for (const auto& step : o.steps) folders.push_back(find_step(o.run, step));
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  if (const auto good = detail::good_steps(run.root); !o.force && !good.empty())
    for (const auto& folder : folders)
      if (detail::step_of(std::filesystem::path(folder).filename().string()) == good.back())
        throw CheckpointError(
            fmt::format("step {} is the newest one that is whole, and nothing was removed; --force removes it too", good.back()));
  for (const auto& folder : folders) detail::remove_step(folder);
  detail::sync_folder(run.root);
  print_removed(names_of(folders), o.json);
}

void sweep(const Options& o) {
  const auto run = find_run(o.run);
  if (!run.step.empty()) throw Error(fmt::format("'{}' is a step; sweep takes the folder of a run", o.run));
  const auto lock = detail::FolderLock::lock(run.root, [](const auto& done) {
    while (!done()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  auto removed = names_of(detail::sweep(run.root));
  std::sort(removed.begin(), removed.end());
  print_removed(removed, o.json);
  if (const auto left = detail::list_steps(run.root).stale; !left.empty())
    throw CheckpointError(fmt::format("'{}' cannot be removed", left[0]));
  if (removed.empty() && !o.json) fmt::print("nothing to remove\n");
}

}  // namespace

void add_checkpoint_rm(CLI::App& app) {
  auto* const out = app.add_subcommand("rm", "Remove steps; it asks nothing");
  const auto o = std::make_shared<Options>();
  out->add_option("RUN", o->run, "The run's folder, or a step's")->required();
  out->add_option("STEP", o->steps, "The steps");
  out->add_flag("--force", o->force, "Also the newest one that is whole");
  out->add_flag("--json", o->json, "What was removed as JSON");
  out->callback([o] { rm(*o); });
}

void add_checkpoint_sweep(CLI::App& app) {
  auto* const out =
      app.add_subcommand("sweep", "Remove what saves and removals left that never came to their end; refused while a job saves there");
  const auto o = std::make_shared<Options>();
  out->add_option("RUN", o->run, "The run's folder")->required();
  out->add_flag("--json", o->json, "What was removed as JSON");
  out->callback([o] { sweep(*o); });
}

}  // namespace meshwise::command

// meshwise checkpoint ls: the steps of a run.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "io/checkpoint/commit.hpp"
#include "io/checkpoint/steps.hpp"
#include "meshwise/base/error.hpp"
#include "tools/command/checkpoint.hpp"

namespace meshwise::command {
namespace {

struct Options {
  std::string run;
  bool json = false;
};

struct Step {
  std::int64_t number = 0, values = 0, on_disk = 0;
  std::string path{}, trouble{};
  detail::Manifest manifest{};
};

Step look_at(std::int64_t number, const std::string& path) {
  Step step{number, 0, 0, path};
  try {
    const auto commit = detail::read_commit(path);
    if (number >= 0 && commit.step != number) throw CheckpointError(fmt::format("its COMMIT is of step {}", commit.step));
    step.number = commit.step;
    step.manifest = detail::decode(detail::read_manifest_parts(path, commit));
    for (const auto& file : commit.files) step.on_disk += file.bytes;
    for (const auto& array : step.manifest.arrays) step.values += array.nbytes();
  } catch (const CheckpointError& e) {
    step.trouble = e.what();
  }
  return step;
}

std::string name_of(const std::string& path) { return std::filesystem::path(path).filename().string(); }

ordered_json to_json(const Step& step) {
  ordered_json j{{"step", step.number}, {"folder", name_of(step.path)}, {"whole", step.trouble.empty()}};
  if (!step.trouble.empty()) {
    j["trouble"] = step.trouble;
    return j;
  }
  const auto& m = step.manifest;
  j.update(ordered_json{{"created", m.created},
                        {"world_size", m.world_size},
                        {"arrays", m.arrays.size()},
                        {"bytes", step.values},
                        {"bytes_on_disk", step.on_disk}});
  j["metrics"] = ordered_json::object();
  for (const auto& [name, value] : m.metrics) j["metrics"][name] = json_number(value);
  return j;
}

void print_table(const std::string& run, const std::vector<Step>& steps, const std::vector<std::string>& stale) {
  if (steps.empty()) fmt::print("no steps in {}\n", run);
  Table table(">>>><<");
  if (!steps.empty()) table.add({"step", "size", "arrays", "ranks", "saved", "metrics"});
  for (const auto& step : steps) {
    const auto& m = step.manifest;
    if (step.trouble.empty())
      table.add({std::to_string(step.number), bytes_text(step.values), std::to_string(m.arrays.size()), std::to_string(m.world_size),
                 m.created, metrics_text(m.metrics)});
    else
      table.add({std::to_string(step.number), "-", "-", "-", "not whole"});
  }
  fmt::print("{}", table.text());
  for (const auto& step : steps)
    if (!step.trouble.empty()) fmt::print("step {} is not whole: {}\n", step.number, step.trouble);
  for (const auto& path : stale) fmt::print("unfinished: {}\n", name_of(path));
  if (!stale.empty())
    fmt::print("What is unfinished a job is saving or removing now, or one that ended left it: meshwise checkpoint sweep removes that.\n");
}

void run(const Options& o) {
  const auto run = find_run(o.run);
  detail::StepFolders folders;
  std::vector<Step> steps;
  if (!run.step.empty()) {
    steps.push_back(look_at(detail::step_of(name_of(run.step)).value_or(-1), run.step));
  } else {
    folders = detail::list_steps(run.root);
    std::sort(folders.stale.begin(), folders.stale.end());
    for (const auto& [number, path] : folders.steps) steps.push_back(look_at(number, path));
  }
  if (!o.json) return print_table(o.run, steps, folders.stale);
  ordered_json j{{"run", run.root}, {"steps", ordered_json::array()}, {"unfinished", ordered_json::array()}};
  for (const auto& step : steps) j["steps"].push_back(to_json(step));
  for (const auto& path : folders.stale) j["unfinished"].push_back(name_of(path));
  print_json(j);
}

}  // namespace

void add_checkpoint_ls(CLI::App& app) {
  auto* const ls = app.add_subcommand("ls", "The steps of a run: size, time, metrics, and whether they are whole");
  const auto o = std::make_shared<Options>();
  ls->add_option("RUN", o->run, "The run's folder")->required();
  ls->add_flag("--json", o->json, "The same as JSON");
  ls->callback([o] { run(*o); });
}

}  // namespace meshwise::command

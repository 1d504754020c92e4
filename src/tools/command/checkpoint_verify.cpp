// meshwise checkpoint verify: is every byte what was saved?
#include "io/checkpoint/verify.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "io/checkpoint/steps.hpp"
#include "meshwise/base/error.hpp"
#include "tools/command/checkpoint.hpp"

namespace meshwise::command {
namespace {

struct Options {
  std::string run, step;
  bool all = false, json = false;
};

// The newest where none is named, whole or not: who asks wants to know.
std::vector<std::string> folders_of(const Options& o) {
  const auto run = find_run(o.run);
  if (!run.step.empty() || !o.step.empty()) return {find_step(o.run, o.step)};
  std::vector<std::string> folders;
  for (const auto& [number, path] : detail::list_steps(run.root).steps) folders.push_back(path);
  if (folders.empty()) throw CheckpointError(fmt::format("'{}' has no steps", o.run));
  if (!o.all) folders = {folders.back()};
  return folders;
}

ordered_json to_json(const std::string& folder, const detail::VerifyReport& report) {
  auto damage = ordered_json::array();
  for (const auto& d : report.damage) {
    ordered_json one{{"file", d.file}};
    one["block"] = d.block >= 0 ? ordered_json(d.block) : ordered_json(nullptr);
    one.update(ordered_json{{"offset", d.offset}, {"bytes", d.bytes}, {"arrays", d.arrays}, {"words", d.words}});
    damage.push_back(std::move(one));
  }
  return {{"folder", folder},        {"step", report.step},   {"good", report.good()},      {"files", report.files},
          {"blocks", report.blocks}, {"bytes", report.bytes}, {"damage", std::move(damage)}};
}

void run(const Options& o) {
  bool good = true;
  auto steps = ordered_json::array();
  for (const auto& folder : folders_of(o)) {
    const auto name = std::filesystem::path(folder).filename().string();
    detail::VerifyReport report;
    {
      Bar bar(name);
      report = detail::verify_step(folder, [&](std::int64_t done, std::int64_t total) { bar.show(done, total); });
    }
    good = good && report.good();
    if (o.json) {
      steps.push_back(to_json(name, report));
      continue;
    }
    const auto what = fmt::format("{}, {}, {}", counted(report.files, "file"), counted(report.blocks, "block"), bytes_text(report.bytes));
    fmt::print("{}: {} ({})\n", name, report.good() ? "good" : "damaged", what);
    for (const auto& damage : report.damage) fmt::print("  {}\n", to_string(damage));
  }
  if (o.json) print_json({{"good", good}, {"steps", std::move(steps)}});
  if (!good) throw CLI::RuntimeError(1);
}

}  // namespace

void add_checkpoint_verify(CLI::App& app) {
  auto* const verify =
      app.add_subcommand("verify", "Read a step whole and compare it with its checksums; exit code 1 if anything is damaged");
  const auto o = std::make_shared<Options>();
  verify->add_option("RUN", o->run, "The run's folder, or a step's")->required();
  auto* const step = verify->add_option("STEP", o->step, "The step (the newest where nothing is said)");
  verify->add_flag("--all", o->all, "All steps of the run")->excludes(step);
  verify->add_flag("--json", o->json, "The same as JSON");
  verify->callback([o] { run(*o); });
}

}  // namespace meshwise::command

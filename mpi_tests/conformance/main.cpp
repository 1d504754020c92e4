// meshwise_conformance FOLDER [--kind K]: runs every vector file of a folder, prints one line a kind and a closing count.
// Runs on any number of ranks: where there are fewer than eight, each rank has several devices.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "common.hpp"
#include "meshwise/runtime/collectives.hpp"

namespace conformance {

namespace {

struct Tally {
  int passed = 0, failed = 0, skipped = 0;
};

/// Cases that failed on any rank, with the first rank's words: the same list everywhere.
std::map<std::string, std::string> gather_failures(const std::map<std::string, std::string>& mine) {
  const auto texts = mw::detail::all_gather_text(json(mine).dump(-1, ' ', true, json::error_handler_t::replace), mw::detail::enter_world_call({"conformance"}));
  std::map<std::string, std::string> all;
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    for (const auto& [id, words] : json::parse(texts[rank]).get<std::map<std::string, std::string>>()) all.try_emplace(id, fmt::format("[rank {}] {}", rank, words));
  return all;
}

Tally run_file(const std::filesystem::path& path, const std::string& kind, const json& file, const Run& run) {
  std::map<std::string, std::string> failures;
  std::map<std::string, int> skipped;
  int count = 0, skips = 0;
  for (const auto& test : file["cases"]) {
    ++count;
    const auto id = test["id"].get<std::string>();
    try {
      run(test);
    } catch (const Skip& skip) {
      ++skipped[skip.operation];
      ++skips;
    } catch (const std::exception& error) {
      failures.emplace(id, error.what());
    }
  }
  const auto failed = gather_failures(failures);
  Tally tally{count - skips - static_cast<int>(failed.size()), static_cast<int>(failed.size()), skips};
  std::string missing;
  for (const auto& [operation, n] : skipped) missing += fmt::format("{}{} ({})", missing.empty() ? "; not in the library: " : ", ", operation, n);
  mw::print("{} ({}): {} passed, {} failed, {} skipped{}\n", kind, path.filename().string(), tally.passed, tally.failed, tally.skipped, missing);
  int shown = 0;
  for (const auto& [id, words] : failed)
    if (++shown <= 20) mw::print("  {}: {}\n", id, words);
  if (shown > 20) mw::print("  ... and {} more\n", shown - 20);
  return tally;
}

int run_folder(const std::filesystem::path& folder, const std::string& only) {
  Kinds kinds;
  add_placement(kinds);
  add_layout(kinds);
  add_values(kinds);
  std::set<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".json") files.insert(entry.path());
  if (files.empty()) {
    mw::print("no vector files (*.json) in {}\n", folder.string());
    return 1;
  }
  Tally total;
  for (const auto& path : files) {
    std::ifstream in(path);
    json file;
    try {
      file = json::parse(in);
    } catch (const json::exception& bad) {
      mw::print("{}: not JSON: {}\n", path.filename().string(), bad.what());
      ++total.failed;
      continue;
    }
    const auto kind = file.value("kind", std::string("?"));
    if (!only.empty() && kind != only && file.value("set", std::string()) != only && path.stem() != only) continue;
    const auto name = kinds.contains(kind) ? kind : file.value("set", kind);
    const auto run = kinds.find(name);
    if (run == kinds.end()) {
      const auto n = static_cast<int>(file.contains("cases") ? file["cases"].size() : 0);
      mw::print("{} ({}): 0 passed, 0 failed, {} skipped; not in the library: {}\n", kind, path.filename().string(), n, kind);
      total.skipped += n;
      continue;
    }
    const auto tally = run_file(path, name, file, run->second);
    total.passed += tally.passed;
    total.failed += tally.failed;
    total.skipped += tally.skipped;
  }
  mw::print("{} passed, {} failed, {} skipped\n", total.passed, total.failed, total.skipped);
  return total.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
  // Eight devices on any number of ranks; Open MPI says the number before MPI starts.
  if (std::getenv("MESHWISE_DEVICES_PER_RANK") == nullptr) {
    const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
    const int ranks = size != nullptr ? std::atoi(size) : 1;
    setenv("MESHWISE_DEVICES_PER_RANK", std::to_string((8 + ranks - 1) / std::max(ranks, 1)).c_str(), 0);
  }
  std::string folder, kind;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--kind" && i + 1 < argc) kind = argv[++i];
    else folder = argv[i];
  }
  if (folder.empty()) {
    std::fputs("usage: meshwise_conformance FOLDER [--kind K]\n", stderr);
    return 2;
  }
  meshwise::Environment env(argc, argv);
  return conformance::run_folder(folder, kind);
}

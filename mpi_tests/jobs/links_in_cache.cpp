// Where MESHWISE_CALIBRATION names no file, the link figures are kept under $XDG_CACHE_HOME/meshwise, which is made; without that, under ~/.cache.
// ranks: 1 2
// prints: the figures are kept
#include <unistd.h>
#include <meshwise/meshwise.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace mw = meshwise;
namespace fs = std::filesystem;

namespace {

/// The number behind `"key": ` in the part of the text that is about memory.
double of_memory(const std::string& text, const std::string& key) {
  const auto at = text.find("\"" + key + "\": ", text.find("\"memory\""));
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + key.size() + 4, nullptr);
}

const char* wrong(const fs::path& folder) {
  if (mw::links_path() != folder / "meshwise" / "links.json") return "another path";
  if (mw::links() != mw::Links{}) return "figures before any were measured";
  const auto measured = mw::calibrate();
  if (!measured.memory.measured || mw::links() != measured) return "what was measured does not hold";
  const bool first = mw::process_index() == 0;
  if (fs::exists(folder) != first) return "the folder is not rank 0's alone";
  if (first) {
    std::ifstream file(folder / "meshwise" / "links.json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (of_memory(text, "bandwidth") != measured.memory.bandwidth || of_memory(text, "latency") != measured.memory.latency) return "the file holds other figures";
    if (std::distance(fs::directory_iterator(folder / "meshwise"), {}) != 1) return "a draft is left";
  }
  setenv("XDG_CACHE_HOME", "", 1);
  setenv("HOME", folder.c_str(), 1);
  return mw::links_path() == folder / ".cache" / "meshwise" / "links.json" ? nullptr : "another path at home";
}

}  // namespace

int main(int argc, char** argv) {
  const auto folder = fs::temp_directory_path() / ("meshwise-cache." + std::to_string(getpid()));
  fs::remove_all(folder);
  unsetenv("MESHWISE_CALIBRATION");
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  const mw::Environment env(argc, argv);
  const char* const words = wrong(folder);
  fs::remove_all(folder);
  if (words) throw mw::Error(fmt::format("rank {}: {}", mw::process_index(), words));
  mw::print("the figures are kept\n");
}

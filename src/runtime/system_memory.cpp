#include "runtime/system_memory.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace meshwise::detail {
namespace {

constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  std::int64_t value = 0;
  if (!(file >> word)) return std::nullopt;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;  // "max"
  return value;
}

/// The value behind a key of a file of `key value` lines, in bytes.
std::int64_t entry_in(const std::string& path, std::string_view key, std::int64_t scale) {
  std::ifstream file(path);
  std::string word;
  for (std::int64_t value = 0; file >> word;)
    if (word == key && file >> value) return value * scale;
  return 0;
}

struct ControlGroup {
  std::int64_t limit = unknown, used = 0;
  const std::string* folder = nullptr;
};

/// The folders of the groups that this process is in, from its own to the root; version 2, else 1.
const std::vector<std::string>& control_groups() {
  static const auto* const found = [] {
    auto* folders = new std::vector<std::string>;
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
      const bool second = line.starts_with("0::");
      const auto colon = line.rfind(':');
      if (colon == std::string::npos || (!second && line.find("memory") == std::string::npos)) continue;
      std::string path = line.substr(colon + 1);
      for (;;) {
        folders->push_back((second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory") + (path == "/" ? std::string() : path));
        const auto slash = path.rfind('/');
        if (slash == std::string::npos || path == "/") break;
        path = slash == 0 ? "/" : path.substr(0, slash);
      }
    }
    return folders;
  }();
  return *found;
}

template <class Better>
ControlGroup best_group(Better better) {
  ControlGroup best;
  for (const auto& folder : control_groups()) {
    ControlGroup group{.folder = &folder};
    if (const auto limit = number_in(folder + "/memory.max")) {
      group.limit = *limit;
      // Cached files give way; what processes and shared memory hold does not.
      for (const auto* key : {"anon", "shmem", "kernel"}) group.used += entry_in(folder + "/memory.stat", key, 1);
    } else if (const auto old = number_in(folder + "/memory.limit_in_bytes")) {
      group.limit = *old;
      group.used = number_in(folder + "/memory.usage_in_bytes").value_or(0);
      for (const auto* key : {"total_active_file", "total_inactive_file"}) group.used -= entry_in(folder + "/memory.stat", key, 1);
    } else {
      continue;
    }
    if (better(group, best)) best = group;
  }
  return best;
}

/// The one with the least left.
ControlGroup tightest() {
  return best_group([](const ControlGroup& a, const ControlGroup& b) { return a.limit - a.used < b.limit - b.used; });
}

/// The one with the least limit, of those below the machine's memory.
const ControlGroup& smallest() {
  static const auto* const found =
      new ControlGroup(best_group([](const ControlGroup& a, const ControlGroup& b) { return a.limit < std::min(b.limit, machine_memory()); }));
  return *found;
}

}  // namespace

std::int64_t machine_memory() {
  static const std::int64_t total = std::max<std::int64_t>(entry_in("/proc/meminfo", "MemTotal:", 1024), std::int64_t{1} << 30);
  return total;
}

std::int64_t memory_total() {
  return std::min(smallest().limit, machine_memory());
}

std::uint64_t control_group_id() {
  struct stat found {};
  return smallest().folder && stat(smallest().folder->c_str(), &found) == 0 ? found.st_ino : 0;
}

std::int64_t memory_available() {
  const auto group = tightest();
  const auto machine = entry_in("/proc/meminfo", "MemAvailable:", 1024);
  const auto left = std::min(group.limit == unknown ? unknown : group.limit - group.used, machine > 0 ? machine : unknown);
  // The kernel's killer does not wait for the last page.
  return left == unknown ? left : left - std::clamp<std::int64_t>(memory_total() / 50, std::int64_t{4} << 20, std::int64_t{512} << 20);
}

}  // namespace meshwise::detail

// A control group that all ranks are in, as containers and batch systems make it: the refusal comes before the kernel's killer, and the next call works.
// ranks: 1 2
// variant: private ranks=2 MESHWISE_STORE=private
// within: 60
#include <sys/stat.h>
#include <unistd.h>

#include <meshwise/meshwise.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace mw = meshwise;

namespace {

constexpr long long limit = 1LL << 30;

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return static_cast<bool>(file);
}

/// This process's group of the memory controller, version 1 or 2.
std::string own_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::") && access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0) return "/sys/fs/cgroup" + line.substr(3);
    if (line.find(":memory:") != std::string::npos) return "/sys/fs/cgroup/memory" + line.substr(line.rfind(':') + 1);
  }
  return "";
}

/// Joins the ranks' common group, made by whoever comes first.
bool join(const std::string& group) {
  mkdir(group.c_str(), 0755);
  const bool limited = write(group + "/memory.max", std::to_string(limit)) || write(group + "/memory.limit_in_bytes", std::to_string(limit));
  return limited && write(group + "/cgroup.procs", std::to_string(getpid()));
}

int run(int argc, char** argv) {
  const mw::Environment env(argc, argv);
  const mw::NamedSharding rows(mw::make_mesh({mw::devices().size()}, {"x"}), mw::P("x"));
  const auto kept = mw::device_put(mw::arange(1 << 20, mw::int64), rows);
  const auto piece = [&] { return mw::device_put(mw::ones({mw::devices().size() << 22}, mw::float64), rows); };  // 32 MiB a device
  for (int round = 0; round < 2; ++round) {
    std::vector<mw::Array> held;
    std::string words;
    try {
      mw::agree([&] {
        while (held.size() < 100) held.push_back(piece());
      });
    } catch (const mw::OutOfMemoryError& error) {
      words = error.what();
    }
    if (words.find("no memory for a block") == std::string::npos || words.find("bytes of blocks are live") == std::string::npos) return 3;
    if (static_cast<long long>(held.size()) * mw::process_count() * (32LL << 20) < limit / 4) return 4;  // it refused too early
    held.clear();
    mw::trim();
    if (mw::sum(kept).item<std::int64_t>() != ((std::int64_t{1} << 20) - 1) << 19) return 5;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
#ifdef MESHWISE_SANITIZED
  // A sanitizer's shadow counts in the group, and its allocator takes no pages before they are written: ranks that take some at once don't see each other.
  std::printf("meshwise: skipped: the group has a sanitizer's memory in it\n");
  return 0;
#endif
  const auto before = own_group(), group = before + "/meshwise-test-" + std::to_string(getppid());
  if (before.empty() || !join(group)) {
    std::printf("meshwise: skipped: no control group can be made here\n");
    rmdir(group.c_str());
    return 0;
  }
  const int code = run(argc, argv);
  write(before + "/cgroup.procs", std::to_string(getpid()));
  rmdir(group.c_str());  // the last to leave can
  return code;
}

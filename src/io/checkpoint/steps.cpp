#include "io/checkpoint/steps.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "io/checkpoint/commit.hpp"
#include "io/disk.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "step_", unfinished = ".tmp-", leaving = ".deleting-", newest_link = ".latest-";

std::string lock_path(const std::string& root) { return root + "/.lock"; }

std::string who_am_i() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return fmt::format("process {} on {}", ::getpid(), host);
}

// For people and their scripts; nothing of ours believes it.
void point_latest(const std::string& root, const std::string& name) {
  std::error_code none;
  if (name.empty()) {
    fs::remove(root + "/latest", none);
    return;
  }
  const auto link = root + "/" + std::string(newest_link) + make_uuid();
  fs::create_directory_symlink(name, link, none);
  if (!none) fs::rename(link, root + "/latest", none);
  if (none) fs::remove(link, none);
}

}  // namespace

std::string step_name(std::int64_t step) { return fmt::format("{}{:08d}", prefix, step); }

std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || step < 0 || step_name(step).substr(prefix.size()) != name)
    return std::nullopt;
  return step;
}

StepFolders list_steps(const std::string& root) {
  StepFolders folders;
  std::error_code error;
  auto entry = fs::directory_iterator(root, error);
  while (error == std::errc::interrupted) entry = fs::directory_iterator(root, error);
  if (error == std::errc::no_such_file_or_directory) return folders;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (const auto step = step_of(name))
      folders.steps.emplace(*step, entry->path().string());
    else if (name.starts_with(newest_link))
      folders.stale.push_back(entry->path().string());
    else if (name.starts_with(prefix) && (name.find(unfinished) != std::string::npos || name.find(leaving) != std::string::npos))
      folders.stale.push_back(entry->path().string());
  }
  if (error) throw_disk_error(error.value(), "list the folder", root);
  return folders;
}

std::vector<std::int64_t> good_steps(const std::string& root) {
  std::vector<std::int64_t> good;
  for (const auto& [step, path] : list_steps(root).steps) {
    try {
      if (read_commit(path).step == step) good.push_back(step);
    } catch (const CheckpointError&) {
      // A step that cannot be used is none; verify says why.
    }
  }
  return good;
}

std::optional<FolderLock> FolderLock::try_lock(const std::string& root) {
  const auto path = lock_path(root);
  int descriptor = -1;
  do descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) throw_disk_error(errno, "write into the folder", root);
  FolderLock lock(descriptor);
  int result = 0;
  do result = ::flock(descriptor, LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result != 0 && errno == EWOULDBLOCK) return std::nullopt;
  // Any other failure is a file system without locks: there the user has to take care.
  const auto words = who_am_i();
  static_cast<void>(::ftruncate(descriptor, 0) == 0 && ::pwrite(descriptor, words.data(), words.size(), 0) > 0);
  return lock;
}

FolderLock FolderLock::lock(const std::string& root, const std::function<void(const std::function<bool()>&)>& wait) {
  // Who only makes a Checkpointer holds it for the moment in which it sweeps.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  std::optional<FolderLock> lock;
  wait([&] {
    lock = try_lock(root);
    return lock || std::chrono::steady_clock::now() > deadline;
  });
  if (lock) return std::move(*lock);
  std::string who;
  try {
    who = read_text(lock_path(root), 1 << 10);
  } catch (const CheckpointError&) {
    who = "another program";
  }
  throw CheckpointError(fmt::format("{} is saving into '{}'; give each job a folder of its own", who, root));
}

FolderLock::FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::vector<std::string> sweep(const std::string& root) {
  std::vector<std::string> gone;
  for (auto& path : list_steps(root).stale)
    if (remove_all(path)) gone.push_back(std::move(path));
  return gone;
}

void remove_step(const std::string& path) {
  const auto leaving_path = path + std::string(leaving) + make_uuid();
  rename_entry(path, leaving_path);
  const fs::path gone(path);
  const auto root = gone.parent_path().string();
  std::error_code none;
  if (fs::read_symlink(root + "/latest", none) == gone.filename()) {
    try {
      const auto rest = good_steps(root);
      point_latest(root, rest.empty() ? "" : step_name(rest.back()));
    } catch (const CheckpointError&) {  // the step is gone, and nobody may think that it is not
    }
  }
  remove_all(leaving_path + "/COMMIT");
  remove_all(leaving_path);
}

void put_in_place(const std::string& folder, const std::string& root, std::int64_t step) {
  const auto place = root + "/" + step_name(step);
  std::error_code none;
  const bool replaces = fs::exists(fs::symlink_status(place, none));
  const auto change = [&] { replaces ? exchange_entries(folder, place) : rename_entry(folder, place); };
  change();
  try {
    sync_folder(root);
  } catch (...) {
    replaces ? exchange_entries(folder, place) : rename_entry(place, folder);
    throw;
  }
  if (replaces) remove_all(folder);
  point_latest(root, step_name(step));
}

std::string absolute_path(const std::string& path) {
  if (path.empty()) throw CheckpointError("a checkpointer needs a folder, like 'run/'");
  std::error_code error;
  auto absolute = fs::absolute(path, error).string();  // `..` stays: what it leads to depends on symbolic links
  if (error) throw_disk_error(error.value(), "find the folder", path);
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

std::string make_uuid() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

}  // namespace meshwise::detail

#include "faults/failing_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace {

constexpr std::array<const char*, 9> kinds{"any", "open", "write", "read", "fallocate", "fsync", "rename", "mkdir", "truncate"};
enum Kind { any, open_call, write_call, read_call, fallocate_call, fsync_call, rename_call, mkdir_call, truncate_call };
enum What { nothing, errors, shortens, ignores, kills };

struct Order {
  std::string folder{};
  int kind = -1;
  long number = -1;  // -1: each
  What what = nothing;
  int error = 0;
};

struct State {
  std::mutex mutex;  // a save's thread writes while the main thread goes on
  Order order;
  std::array<long, kinds.size()> calls{};
  std::string failed;
};

// The first call may come before any constructor has run, and the last one after.
State& state() {
  static auto* const one = new State;
  return *one;
}

std::atomic<bool> watching = false;

int rank() {
  for (const auto* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return 0;
}

int kind_of(const std::string& name) {
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (name == kinds[k]) return static_cast<int>(k);
  std::fprintf(stderr, "failing_calls: no call '%s'\n", name.c_str());
  std::_Exit(2);
}

Order order_of(const std::string& folder, const std::string& text) {
  Order order;
  order.folder = folder;
  if (text.empty()) return order;
  std::array<std::string, 4> words;
  std::size_t at = 0;
  for (auto& word : words) {
    const auto end = std::min(text.find(':', at), text.size());
    word = text.substr(std::min(at, text.size()), end - std::min(at, text.size()));
    at = end + 1;
  }
  if (!words[3].empty() && std::stoi(words[3]) != rank()) return order;
  order.kind = kind_of(words[0]);
  order.number = words[1] == "*" ? -1 : std::stol(words[1]);
  const std::pair<const char*, int> errnos[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO}, {"EDQUOT", EDQUOT}, {"EACCES", EACCES}, {"EINTR", EINTR}};
  for (const auto& [name, error] : errnos)
    if (words[2] == name) order.what = errors, order.error = error;
  if (words[2] == "short") order.what = shortens;
  if (words[2] == "ignore") order.what = ignores;
  if (words[2] == "kill") order.what = kills;
  if (order.what == nothing) {
    std::fprintf(stderr, "failing_calls: cannot do '%s'\n", text.c_str());
    std::_Exit(2);
  }
  return order;
}

const bool from_environment = [] {
  const char* const folder = std::getenv("MESHWISE_TEST_FOLDER");
  const char* const what = std::getenv("MESHWISE_TEST_FAIL");
  if (folder != nullptr) meshwise_test_fail(folder, what == nullptr ? "" : what);
  return true;
}();

std::string path_of(int descriptor) {
  char link[PATH_MAX];
  const auto name = "/proc/self/fd/" + std::to_string(descriptor);
  const auto length = readlink(name.c_str(), link, sizeof link);
  return length < 0 ? "" : std::string(link, static_cast<std::size_t>(length));
}

std::string path_of(int folder, const char* path) {
  if (path == nullptr) return {};
  if (path[0] == '/') return path;
  if (folder != AT_FDCWD) return path_of(folder) + "/" + path;
  char here[PATH_MAX];
  return getcwd(here, sizeof here) == nullptr ? path : std::string(here) + "/" + path;
}

struct Fate {
  What what = nothing;
  bool is(What other) const { return what == other; }
};

// What becomes of this call; errno is set where it fails.
Fate fate(Kind kind, const std::string& path) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  const auto& folder = s.order.folder;
  if (folder.empty() || path.compare(0, folder.size(), folder) != 0 || (path.size() > folder.size() && path[folder.size()] != '/'))
    return {};
  const long of_kind = s.calls[kind]++, of_any = s.calls[any]++;
  if (s.order.what == nothing || (s.order.kind != kind && s.order.kind != any)) return {};
  if (s.order.number >= 0 && s.order.number != (s.order.kind == any ? of_any : of_kind)) return {};
  if (s.order.what == kills) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  s.failed = std::string(kinds[kind]) + " " + path;
  errno = s.order.error;
  return {s.order.what};
}

template <class Path>
Fate fate_of(Kind kind, const Path& path) {
  return watching ? fate(kind, path()) : Fate{};
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  const auto f = fate_of(open_call, [&] { return path_of(folder, path); });
  return f.is(errors) ? -1 : static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

// Only with these flags is there a mode to read.
#define MODE_OF(flags)                                              \
  mode_t mode = 0;                                                  \
  if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) { \
    va_list list;                                                   \
    va_start(list, flags);                                          \
    mode = va_arg(list, mode_t);                                    \
    va_end(list);                                                   \
  }

// A transfer of `count` bytes: how many are really to go; -1: it fails, -2: nothing is done.
ssize_t allowed(Kind kind, int descriptor, size_t count) {
  const auto f = fate_of(kind, [&] { return path_of(descriptor); });
  if (f.is(errors)) return -1;
  if (f.is(ignores)) return -2;
  return static_cast<ssize_t>(f.is(shortens) && count > 1 ? count / 2 : count);
}

int plain(Kind kind, int descriptor, long number, long a = 0, long b = 0, long c = 0) {
  const auto f = fate_of(kind, [&] { return path_of(descriptor); });
  if (f.is(errors)) return -1;
  return f.is(ignores) ? 0 : static_cast<int>(syscall(number, descriptor, a, b, c));
}

int rename_at(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  const auto f = fate_of(rename_call, [&] { return path_of(to_folder, to); });
  if (f.is(errors)) return -1;
  return f.is(ignores) ? 0 : static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

}  // namespace

extern "C" {

void meshwise_test_fail(const char* folder, const char* what) {
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  s.order = order_of(folder, what);
  s.calls = {};
  s.failed.clear();
  watching = true;
}

long meshwise_test_calls(const char* call) {
  const std::lock_guard lock(state().mutex);
  return state().calls[static_cast<std::size_t>(kind_of(call))];
}

const char* meshwise_test_failed() { return state().failed.c_str(); }

int open(const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(folder, path, flags, mode);
}
int creat(const char* path, mode_t mode) { return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

ssize_t write(int descriptor, const void* bytes, size_t count) {
  const auto go = allowed(write_call, descriptor, count);
  return go == -1 ? -1 : go == -2 ? static_cast<ssize_t>(count) : syscall(SYS_write, descriptor, bytes, go);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t at) {
  const auto go = allowed(write_call, descriptor, count);
  return go == -1 ? -1 : go == -2 ? static_cast<ssize_t>(count) : syscall(SYS_pwrite64, descriptor, bytes, go, at);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off64_t at) { return pwrite(descriptor, bytes, count, at); }
ssize_t read(int descriptor, void* bytes, size_t count) {
  const auto go = allowed(read_call, descriptor, count);
  return go < 0 ? -1 : syscall(SYS_read, descriptor, bytes, go);
}
ssize_t pread(int descriptor, void* bytes, size_t count, off_t at) {
  const auto go = allowed(read_call, descriptor, count);
  return go < 0 ? -1 : syscall(SYS_pread64, descriptor, bytes, go, at);
}
ssize_t pread64(int descriptor, void* bytes, size_t count, off64_t at) { return pread(descriptor, bytes, count, at); }

int fallocate(int descriptor, int mode, off_t at, off_t bytes) { return plain(fallocate_call, descriptor, SYS_fallocate, mode, at, bytes); }
int fallocate64(int descriptor, int mode, off64_t at, off64_t bytes) {
  return plain(fallocate_call, descriptor, SYS_fallocate, mode, at, bytes);
}
int posix_fallocate(int descriptor, off_t at, off_t bytes) { return fallocate(descriptor, 0, at, bytes) == 0 ? 0 : errno; }
int posix_fallocate64(int descriptor, off64_t at, off64_t bytes) { return posix_fallocate(descriptor, at, bytes); }
int ftruncate(int descriptor, off_t bytes) noexcept { return plain(truncate_call, descriptor, SYS_ftruncate, bytes); }
int ftruncate64(int descriptor, off64_t bytes) noexcept { return ftruncate(descriptor, bytes); }
int fsync(int descriptor) { return plain(fsync_call, descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return plain(fsync_call, descriptor, SYS_fdatasync); }
int sync_file_range(int descriptor, off64_t at, off64_t bytes, unsigned flags) {
  // A hint: never a failure to speak of, but not to be done where no fsync is.
  return state().order.what == ignores ? 0 : static_cast<int>(syscall(SYS_sync_file_range, descriptor, at, bytes, flags));
}

int rename(const char* from, const char* to) noexcept { return rename_at(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return rename_at(from_folder, from, to_folder, to, 0);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  return rename_at(from_folder, from, to_folder, to, flags);
}
int mkdir(const char* path, mode_t mode) noexcept {
  const auto f = fate_of(mkdir_call, [&] { return path_of(AT_FDCWD, path); });
  return f.is(errors) ? -1 : static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

}  // extern "C"

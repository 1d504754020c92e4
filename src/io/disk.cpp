#include "io/disk.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "io/hdf5_file.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

// The most that Linux takes in one call is 2^31 - 4096.
constexpr std::size_t largest_call = std::size_t{1} << 30;

template <class Call>
auto uninterrupted(Call&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

void throw_disk_error(int error, std::string_view action, const std::string& path) {
  throw DiskError(fmt::format("cannot {} '{}': {}", action, path, system_reason(error, path)), error);
}

DiskFile DiskFile::create(const std::string& path) {
  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
  if (descriptor < 0) throw_disk_error(errno, "create", path);
  return {path, descriptor};
}

DiskFile DiskFile::open(const std::string& path) { return open(path, O_RDONLY); }

DiskFile DiskFile::open_to_write(const std::string& path) { return open(path, O_RDWR); }

DiskFile DiskFile::open(const std::string& path, int flags) {
  // A pipe in a file's place would keep open() waiting for its other end.
  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK); });
  if (descriptor < 0) throw_disk_error(errno, "open", path);
  DiskFile file(path, descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw_disk_error(errno, "look at", path);
  if (!S_ISREG(status.st_mode))
    throw CheckpointError(fmt::format("'{}' is {}", path, S_ISDIR(status.st_mode) ? "a directory, not a file" : "not a regular file"));
  return file;
}

DiskFile::DiskFile(DiskFile&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

DiskFile& DiskFile::operator=(DiskFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

DiskFile::~DiskFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::int64_t DiskFile::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) throw_disk_error(errno, "look at", path_);
  return status.st_size;
}

void DiskFile::reserve(std::int64_t bytes, std::int64_t at) const {
  if (bytes == 0) return;
  const auto before = size();
  // Not posix_fallocate: where the file system cannot, that writes zeros.
  int result = uninterrupted([&] { return ::fallocate(descriptor_, 0, at, bytes); });
  if (result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
    result = before >= at + bytes ? 0 : uninterrupted([&] { return ::ftruncate(descriptor_, at + bytes); });
  if (result == 0) return;
  const int error = errno;
  static_cast<void>(uninterrupted([&] { return ::ftruncate(descriptor_, before); }) == 0);
  throw_disk_error(error, fmt::format("take room for {} bytes in", bytes), path_);
}

void DiskFile::write(std::span<const std::byte> bytes, std::int64_t at) const {
  while (!bytes.empty()) {
    const auto written = uninterrupted([&] { return ::pwrite(descriptor_, bytes.data(), std::min(bytes.size(), largest_call), at); });
    if (written < 0) throw_disk_error(errno, "write", path_);
    if (written == 0) throw_disk_error(ENOSPC, "write", path_);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += written;
  }
}

void DiskFile::read(std::span<std::byte> bytes, std::int64_t at) const {
  while (!bytes.empty()) {
    const auto got = uninterrupted([&] { return ::pread(descriptor_, bytes.data(), std::min(bytes.size(), largest_call), at); });
    if (got < 0) throw_disk_error(errno, "read", path_);
    if (got == 0) throw CheckpointError(fmt::format("'{}' ends at byte {}", path_, at));
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    at += got;
  }
}

void DiskFile::start_sync(std::int64_t at, std::int64_t bytes) const noexcept {
  static_cast<void>(::sync_file_range(descriptor_, at, bytes, SYNC_FILE_RANGE_WRITE) == 0);
}

void DiskFile::sync() const {
  if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0) throw_disk_error(errno, "bring to disk", path_);
}

void DiskFile::sync_and_close() {
  sync();
  // Linux closes the descriptor also when it was interrupted.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) throw_disk_error(errno, "close", path_);
}

std::string read_text(const std::string& path, std::int64_t most) {
  const auto file = DiskFile::open(path);
  const auto size = file.size();
  if (size > most) throw CheckpointError(fmt::format("'{}' is {} bytes long; at most {} are expected", path, size, most));
  std::string text(static_cast<std::size_t>(size), '\0');
  file.read(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

void write_durably(const std::string& path, std::span<const std::byte> bytes) {
  auto file = DiskFile::create(path);
  file.reserve(static_cast<std::int64_t>(bytes.size()));
  file.write(bytes, 0);
  file.sync_and_close();
}

void make_folder(const std::string& path) {
  if (uninterrupted([&] { return ::mkdir(path.c_str(), 0777); }) != 0) throw_disk_error(errno, "make the folder", path);
}

void sync_folder(const std::string& path) {
  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor < 0) throw_disk_error(errno, "open the folder", path);
  const int result = uninterrupted([&] { return ::fsync(descriptor); });
  const int error = errno;
  ::close(descriptor);
  // Some network file systems know no such thing for folders.
  if (result != 0 && error != EINVAL) throw_disk_error(error, "bring to disk the folder", path);
}

void rename_entry(const std::string& from, const std::string& to) {
  if (uninterrupted([&] { return ::rename(from.c_str(), to.c_str()); }) != 0)
    throw_disk_error(errno, fmt::format("rename '{}' to", from), to);
}

void exchange_entries(const std::string& a, const std::string& b) {
  if (uninterrupted([&] { return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE); }) != 0)
    throw_disk_error(errno, fmt::format("exchange '{}' with", a), b);
}

bool remove_all(const std::string& path) noexcept {
  std::error_code error;
  // What was interrupted, or failed for once, gets on the second time.
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::filesystem::remove_all(path, error);
    if (!error) return true;
  }
  return false;
}

}  // namespace meshwise::detail

#pragma once
// Files whose every system call is looked at: interrupted ones go on, and what is written is on disk before anyone relies on it. Local.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "meshwise/base/error.hpp"

namespace meshwise::detail {

/// Local. An open file; its system calls' failures are CheckpointErrors that name path and reason.
class DiskFile {
 public:
  /// Local. A new file to write, that must not exist; an existing one to read, or to write into.
  static DiskFile create(const std::string& path);
  static DiskFile open(const std::string& path);
  static DiskFile open_to_write(const std::string& path);
  DiskFile(DiskFile&& other) noexcept;
  DiskFile& operator=(DiskFile&& other) noexcept;
  ~DiskFile();

  const std::string& path() const { return path_; }
  std::int64_t size() const;
  /// Local. Takes the room on disk for so many bytes from there on, where the file system can; the file ends there or later. Where there is none, it is as
  /// long as before.
  void reserve(std::int64_t bytes, std::int64_t at = 0) const;
  void write(std::span<const std::byte> bytes, std::int64_t at) const;
  /// Local. Fills `bytes` from there. Throws also where the file ends before.
  void read(std::span<std::byte> bytes, std::int64_t at) const;
  /// Local. The system may begin to bring those bytes to disk: a hint.
  void start_sync(std::int64_t at, std::int64_t bytes) const noexcept;
  /// Local. The bytes are on disk.
  void sync() const;
  /// Local. The same, and the file is closed: some file systems say only here that there was no room.
  void sync_and_close();

 private:
  DiskFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  static DiskFile open(const std::string& path, int flags);
  std::string path_;
  int descriptor_ = -1;
};

/// Local. What the system refused, which says nothing of what is on disk.
struct DiskError : CheckpointError {
  DiskError(const std::string& words, int error) : CheckpointError(words), code(error) {}
  int code;  // errno
};
/// Local. Throws DiskError `cannot <action> '<path>': <reason>`.
[[noreturn]] void throw_disk_error(int error, std::string_view action, const std::string& path);

/// Local. The whole of a file, of at most `most` bytes.
std::string read_text(const std::string& path, std::int64_t most);
/// Local. A new file with these bytes, on disk.
void write_durably(const std::string& path, std::span<const std::byte> bytes);
inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Local. A new folder, that must not exist.
void make_folder(const std::string& path);
/// Local. What a folder's entries are is on disk.
void sync_folder(const std::string& path);
void rename_entry(const std::string& from, const std::string& to);
/// Local. Puts what one name stands for under the other and the other way round, in one step.
void exchange_entries(const std::string& a, const std::string& b);
/// Local. Removes a file or a folder with all that is in it; what cannot be removed stays. Tells whether all is gone.
bool remove_all(const std::string& path) noexcept;

}  // namespace meshwise::detail

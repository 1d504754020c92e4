#pragma once
// An HDF5 file in memory that keeps only what HDF5 writes: room that is allocated and left to others costs nothing. Local; main thread only.

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "io/hdf5_handle.hpp"

namespace meshwise::detail {

class MemoryFile {
 public:
  /// Local. A new file, open. Throws: CheckpointError.
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  hid_t id() const { return file_; }
  /// Local. Closes the file for HDF5; its bytes stay.
  void finish();
  std::int64_t size() const { return size_; }
  std::vector<std::byte> read(std::int64_t from, std::int64_t to) const;

  struct Driver;

 private:
  using Page = std::vector<std::byte>;
  void get(std::int64_t at, std::size_t bytes, std::byte* to) const;
  void put(std::int64_t at, std::size_t bytes, const std::byte* from);
  std::map<std::int64_t, Page> pages_{};
  std::int64_t size_ = 0;
  Handle file_{-1, H5Fclose};
};

}  // namespace meshwise::detail

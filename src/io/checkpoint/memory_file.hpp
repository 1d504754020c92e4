#pragma once
// An HDF5 file that HDF5 makes in memory, and what is put into it. Local; main thread only.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/images.hpp"
#include "io/hdf5_handle.hpp"

namespace meshwise::detail {

/// Local. A file in memory under a name that HDF5 can open. Its holes take no memory.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  hid_t id() const { return file_; }
  /// Local. HDF5 writes what it still has; all other handles are closed by then.
  void finish() { checked(file_.close(), "finish a file in memory"); }
  std::int64_t size() const;
  std::vector<std::byte> read(std::int64_t from, std::int64_t to) const;
  /// Local. Offset and bytes of everything outside `runs`.
  std::vector<std::pair<std::int64_t, std::vector<std::byte>>> rest(std::vector<Extent> runs) const;

 private:
  int descriptor_;
  std::string path_{};
  Handle file_{-1, H5Fclose};
};

/// Local. A link list that makes groups and names in UTF-8.
Handle links();
/// Local. A scalar's space for no lengths.
Handle space_of(const std::vector<hsize_t>& lengths);
/// Local. Room in the file and no values: where they go place_of tells.
Handle contiguous();
std::int64_t place_of(hid_t dataset);
Handle text_type(std::size_t length);
void put_attribute(hid_t object, const char* name, hid_t type, const void* value);
void put_attribute(hid_t object, const char* name, const std::string& value);
void put_attribute(hid_t object, const char* name, std::int64_t value);

}  // namespace meshwise::detail

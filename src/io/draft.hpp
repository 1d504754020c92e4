#pragma once
// A file, or datasets of one, in the making: laid out by one process, filled by many, then published or thrown away. Local, no MPI.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/disk.hpp"
#include "meshwise/base/dtype.hpp"
#include "meshwise/base/shape.hpp"

namespace meshwise::detail {

struct LaidOut;

/// Local. What the process that publishes knows; the others need `path` and `offsets` alone.
struct Draft {
  std::string path;                     // of the file that is written to
  std::vector<std::int64_t> offsets{};  // of each dataset's first byte in it
  std::string name;                     // of the dataset or group when published
  std::string link;                     // its name until then; empty in a new file, which has another name itself
  std::string target;                   // the new file's name when published
  std::string made_as() const { return link.empty() ? name : link; }
};

/// Local. Makes the file under a name nobody looks for, or opens the one there is (`append`) and chooses such a name in it. `lay_out` is called when the room
/// on disk is taken, so that a full disk is found before HDF5 can half-write. `name` is "/" for the root of a new file. Throws: CheckpointError,
/// leaving nothing behind.
Draft begin_draft(const std::string& file, const std::string& name, std::int64_t bytes, bool append,
                  const std::function<void(Draft&)>& lay_out);

/// Local. The same for the datasets and groups of `items`, contiguous.
Draft begin_draft(const std::string& file, const std::string& name, std::span<const LaidOut> items, bool append);

/// Local. The same for a new file that begins with these bytes and has room for so many more, at offsets[0].
Draft begin_draft(const std::string& file, const std::string& first_bytes, std::int64_t bytes);

/// Local. Takes so many bytes on disk behind the file's end, and what HDF5 may add; a file that HDF5 closes gives back what it did not use.
/// Throws: CheckpointError.
void reserve(const std::string& path, std::int64_t bytes);

/// Local. The file's bytes are on disk. Throws: CheckpointError.
void sync_file(const std::string& path);

/// Local. The file a name stands for: a new file replaces what a symbolic link points to, not the link. Throws: CheckpointError when it can't be replaced.
std::string replaced_file(const std::string& file);

/// Local. Gives the dataset its name, or the file, which replaces an old one in one step. Throws: CheckpointError.
void publish(const Draft& draft);

/// Local. Leaves everything as it was before begin_draft.
void discard(const Draft& draft) noexcept;

/// Local. An open file to write boxes of one dataset into. Throws (as its members do): CheckpointError with the system's reason.
class BoxWriter {
 public:
  BoxWriter(const std::string& path, std::int64_t offset, const Shape& shape, Dtype dtype)
      : file_(DiskFile::open_to_write(path)), offset_(offset), shape_(shape), itemsize_(static_cast<std::int64_t>(itemsize(dtype))) {}
  /// Local. Writes a box from dense row-major values, in runs as long as the layout has.
  void write(const Index& box, const std::byte* values);
  /// Local. The bytes are on disk: some file systems say only here that there was no room.
  void sync() const { file_.sync(); }

 private:
  DiskFile file_;
  std::int64_t offset_;
  Shape shape_;
  std::int64_t itemsize_;
};

/// Local. How many elements of a box lie one after the other in an array of that shape.
std::int64_t run_length(const Shape& shape, const Index& box);

}  // namespace meshwise::detail

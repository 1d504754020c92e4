#pragma once
// A dataset in the making: laid out by one process, filled by many with plain system calls, then published or thrown away. Local, no MPI.

#include <cstddef>
#include <cstdint>
#include <string>

#include "meshwise/base/dtype.hpp"
#include "meshwise/base/shape.hpp"

namespace meshwise::detail {

/// Local. What the process that publishes knows; the others need `path` and `offset` alone.
struct Draft {
  std::string path;         // of the file that is written to
  std::int64_t offset = 0;  // of the dataset's first byte in it
  std::string dataset;      // its name when published
  std::string link;         // its name until then; empty in a new file, which has another name itself
  std::string target;       // the new file's name when published
};

/// Local. Makes the file, or opens the one there is (`append`), and lays out the dataset under a name nobody looks for. The room on disk is taken first, so
/// a full disk is found before HDF5 can half-write. Throws: CheckpointError, leaving nothing behind.
Draft begin_draft(const std::string& file, const std::string& dataset, const Shape& shape, Dtype dtype, bool append);

/// Local. The file a name stands for: a new file replaces what a symbolic link points to, not the link. Throws: CheckpointError when it can't be replaced.
std::string replaced_file(const std::string& file);

/// Local. Gives the dataset its name, or the file, which replaces an old one in one step. Throws: CheckpointError.
void publish(const Draft& draft);

/// Local. Leaves everything as it was before begin_draft.
void discard(const Draft& draft) noexcept;

/// Local. An open file to write boxes of one dataset into.
class BoxWriter {
 public:
  BoxWriter(const std::string& path, std::int64_t offset, const Shape& shape, Dtype dtype);
  ~BoxWriter();
  BoxWriter(const BoxWriter&) = delete;
  BoxWriter& operator=(const BoxWriter&) = delete;
  /// Local. Writes a box from dense row-major values, in runs as long as the layout has. Throws: CheckpointError with the system's reason.
  void write(const Index& box, const std::byte* values);
  /// Local. The bytes are on disk: some file systems say only here that there was no room. Throws: CheckpointError.
  void sync();

 private:
  void write_run(const std::byte* from, std::int64_t bytes, std::int64_t at);
  int descriptor_;
  std::int64_t offset_;
  Shape shape_;
  std::int64_t itemsize_;
};

/// Local. How many elements of a box lie one after the other in an array of that shape.
std::int64_t run_length(const Shape& shape, const Index& box);

}  // namespace meshwise::detail

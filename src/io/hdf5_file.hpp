#pragma once
// One process and one HDF5 file: open it, say what is in it, read a box, lay out a dataset. Local, no MPI.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5_handle.hpp"
#include "meshwise/array/local_array.hpp"
#include "meshwise/base/dtype.hpp"
#include "meshwise/base/shape.hpp"

namespace meshwise::detail {

/// Local. A file as an error names it: `No such file or directory (the current folder is /home/me)`.
std::string system_reason(int error, const std::string& path);

/// Local. Opens an existing HDF5 file by plain system calls, to read or to change it. Throws: CheckpointError with the system's or HDF5's reason.
Handle open_file(const std::string& path, bool writable);

/// Local. `the file holds /images uint8[1797,8,8], /labels int64[1797]`: what is in a file, or in a group of that name; at most twenty of them.
std::string contents(hid_t group, const std::string& name = {});

/// Local. A dataset that can be read, with its shape and dtype. Throws: CheckpointError when it isn't there, or is no dataset or has no dtype,
/// saying what the file holds.
struct Dataset {
  Handle id;
  Shape shape;
  Dtype dtype;
};
Dataset open_dataset(hid_t file, const std::string& name);

/// Local. The values of a box. Throws: CheckpointError with HDF5's reason; OutOfMemoryError.
LocalArray read_box(const Dataset& dataset, const Index& box);

/// Local. Makes a contiguous dataset, with room on disk for its bytes but no values, in an existing file, and closes the file. Hands back where in the file its
/// bytes go. Throws: CheckpointError.
std::int64_t lay_out(const std::string& path, const std::string& name, const Shape& shape, Dtype dtype);

/// Local. The bytes of an HDF5 file with nothing in it.
std::vector<std::byte> empty_file_image();

/// Local. The dataset's full name with one leading slash, none doubled. Throws: CheckpointError for a name of nothing but slashes.
std::string normalized_name(const std::string& name);

/// Local. Throws: CheckpointError when there is something of that name, or a dataset where it needs a group.
void check_free(hid_t file, const std::string& name);
/// Local. Gives a link a new name, making its groups. Throws: CheckpointError.
void rename_link(hid_t file, const std::string& from, const std::string& to);
/// Local. Removes a link and what only it led to. Throws: CheckpointError.
void remove_link(hid_t file, const std::string& name);

}  // namespace meshwise::detail

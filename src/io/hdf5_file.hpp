#pragma once
// One process and one HDF5 file: open it, say what is in it, read a box, lay out a dataset. Local, no MPI.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5_handle.hpp"
#include "io/placed.hpp"
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

/// Local. The same where another node's view of the file system may differ from rank 0's. Throws: CheckpointError, also when it isn't as rank 0 found it.
Dataset open_same(hid_t file, const std::string& name, const Found& found);

/// Local. The values of some elements. Throws: CheckpointError with HDF5's reason; OutOfMemoryError.
LocalArray read_region(const Dataset& dataset, const Region& region);

/// Local. A dataset to make, or (`kind` is set) a group that is a tree's node of that kind.
struct LaidOut {
  std::string name;  // below the root; empty for the root itself
  Found type{};
  std::string kind{};
};
/// Local. Makes groups and contiguous datasets below `root`, with room on disk for their bytes but no values, in an existing file, and closes it. Hands back
/// where in the file the bytes of each dataset go. Throws: CheckpointError.
std::vector<std::int64_t> lay_out(const std::string& path, const std::string& root, std::span<const LaidOut> items);

/// Local. Writes a short text as an attribute of an object; reads one, empty if there is none. Throws: CheckpointError.
void set_text_attribute(hid_t object, const char* name, const std::string& text);
std::string text_attribute(hid_t object, const char* name);

/// Local. The properties of files and links that are made: plain file access, groups on the way, names in UTF-8. Throws: CheckpointError.
Handle access_list();
Handle link_list();

/// Local. The bytes of an HDF5 file with nothing in it.
std::vector<std::byte> empty_file_image();

/// Local. The dataset's full name with one leading slash, none doubled. Throws: CheckpointError for a name of nothing but slashes.
std::string normalized_name(const std::string& name);
/// Local. The same of a group or any object, where "/" is the root.
std::string object_name(const std::string& name);
/// Local. Whether there is something of that name. Throws: CheckpointError.
bool exists(hid_t file, const std::string& name);
/// Local. ` (a link to nothing)`: right after something could not be opened, why, in words.
std::string why_not_open(hid_t group, const std::string& name);
/// Local. `string[12][3]`: what a dataset is, in words.
std::string description(hid_t dataset);

/// Local. Throws: CheckpointError when there is something of that name, or a dataset where it needs a group.
void check_free(hid_t file, const std::string& name);
/// Local. Gives a link a new name, making its groups. Throws: CheckpointError.
void rename_link(hid_t file, const std::string& from, const std::string& to);
/// Local. Removes a link and what only it led to. Throws: CheckpointError.
void remove_link(hid_t file, const std::string& name);

}  // namespace meshwise::detail

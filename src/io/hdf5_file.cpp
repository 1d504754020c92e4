#include "io/hdf5_file.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "io/hdf5_types.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

constexpr std::size_t most_names = 20;
constexpr int deepest = 16;  // hard links may form a cycle

Shape shape_of(hid_t dataset, bool& has_shape) {
  const Handle space(checked(H5Dget_space(dataset), "read a shape"), H5Sclose);
  has_shape = H5Sget_simple_extent_type(space) != H5S_NULL;
  std::vector<hsize_t> lengths(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
  if (!lengths.empty()) checked(H5Sget_simple_extent_dims(space, lengths.data(), nullptr), "read a shape");
  return Shape(std::vector<std::int64_t>(lengths.begin(), lengths.end()));
}

Handle type_of(hid_t dataset) { return {checked(H5Dget_type(dataset), "read the element type"), H5Tclose}; }

void list(hid_t group, const std::string& prefix, int depth, std::vector<std::string>& found) {
  H5G_info_t info{};
  if (depth > deepest || H5Gget_info(group, &info) < 0) return;
  for (hsize_t i = 0; i < info.nlinks && found.size() <= most_names; ++i) {
    char buffer[256];
    const auto length = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, buffer, sizeof buffer, H5P_DEFAULT);
    if (length <= 0 || length >= static_cast<ssize_t>(sizeof buffer)) continue;
    const auto path = prefix + "/" + buffer;
    const Handle object(H5Oopen(group, buffer, H5P_DEFAULT), H5Oclose);
    if (!object.is_open()) {
      found.push_back(path + why_not_open(group, buffer));
    } else if (H5Iget_type(object) == H5I_DATASET) {
      found.push_back(path + " " + description(object));
    } else if (H5Iget_type(object) == H5I_GROUP) {
      list(object, path, depth + 1, found);
    }
  }
}

// Every component but the last must exist before HDF5 may be asked for the next.
std::string longest_existing(hid_t file, const std::string& name) {
  std::size_t end = 0;
  while (end != name.size()) {
    const auto next = std::min(name.find('/', end + 1), name.size());
    if (H5Lexists(file, name.substr(0, next).c_str(), H5P_DEFAULT) <= 0) break;
    end = next;
  }
  return name.substr(0, end);
}

}  // namespace

std::string why_not_open(hid_t group, const std::string& name) {
  const auto reason = hdf5_reason();
  if (H5Oexists_by_name(group, name.c_str(), H5P_DEFAULT) <= 0) return " (a link to nothing)";
  if (reason.find("version") == std::string::npos) return fmt::format(" (cannot be opened: {})", reason);
  return fmt::format(
      " (cannot be opened: {}; a newer HDF5 wrote it: h5py.File with libver=('earliest', 'v110') writes what this program's reads)",
      reason);
}

Handle access_list() {
  Handle list(checked(H5Pcreate(H5P_FILE_ACCESS), "make an access list"), H5Pclose);
  // Whatever HDF5_DRIVER says: ranks open files by themselves, with no communication.
  checked(H5Pset_fapl_sec2(list), "choose plain file access");
  checked(H5Pset_alignment(list, 1 << 16, 4096), "choose the alignment");  // large datasets begin on pages
  return list;
}

Handle link_list() {
  Handle list(checked(H5Pcreate(H5P_LINK_CREATE), "make a link list"), H5Pclose);
  checked(H5Pset_create_intermediate_group(list, 1), "make groups");
  checked(H5Pset_char_encoding(list, H5T_CSET_UTF8), "name in UTF-8");
  return list;
}

std::string description(hid_t dataset) {
  bool has_shape = false;
  const auto shape = shape_of(dataset, has_shape);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  return has_shape ? fmt::format("{}[{}]", type_text(type), joined(shape)) : type_text(type) + " without a shape";
}

std::string system_reason(int error, const std::string& path) {
  const auto reason = std::generic_category().message(error);
  std::error_code none;
  if (path.starts_with('/')) return reason;
  return fmt::format("{} (the current folder is {})", reason, std::filesystem::current_path(none).string());
}

Handle open_file(const std::string& path, bool writable) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw CheckpointError(system_reason(errno, path));
  if (S_ISDIR(status.st_mode)) throw CheckpointError("it is a directory, not a file");
  if (!S_ISREG(status.st_mode)) throw CheckpointError("it is not a regular file");
  const int descriptor = ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (descriptor < 0) throw CheckpointError(system_reason(errno, path));
  ::close(descriptor);
  const auto access = access_list();  // a temporary's end would clear the error stack
  Handle file(H5Fopen(path.c_str(), writable ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access), H5Fclose);
  if (file.is_open()) return file;
  const auto reason = hdf5_reason();
  if (reason.find("unable to lock") != std::string::npos)
    throw CheckpointError(
        fmt::format("{}: another program has the file open to write, or the file system knows no locks; "
                    "HDF5_USE_FILE_LOCKING=FALSE in the environment does without",
                    reason));
  if (reason.find("signature") != std::string::npos) throw CheckpointError(fmt::format("it is not an HDF5 file ({})", reason));
  throw CheckpointError(fmt::format("it is damaged, or of a newer HDF5 than this program's: {}", reason));
}

std::string contents(hid_t group, const std::string& name) {
  std::vector<std::string> found;
  list(group, name, 0, found);
  const std::string what = name.empty() ? "the file" : name;
  if (found.empty()) return fmt::format("{} holds no dataset", what);
  const bool more = found.size() > most_names;
  if (more) found.resize(most_names);
  return fmt::format("{} holds {}{}", what, fmt::join(found, ", "), more ? ", and more" : "");
}

std::string object_name(const std::string& name) {
  std::string result;
  for (const auto c : "/" + name)
    if (c != '/' || !result.ends_with('/')) result += c;
  if (result.size() > 1 && result.ends_with('/')) result.pop_back();
  return result;
}

std::string normalized_name(const std::string& name) {
  auto result = object_name(name);
  if (result == "/") throw CheckpointError("a dataset needs a name, like '/weights'");
  return result;
}

bool exists(hid_t file, const std::string& name) { return name == "/" || longest_existing(file, name) == name; }

void check_free(hid_t file, const std::string& name) {
  const auto there = longest_existing(file, name);
  if (there == name) throw CheckpointError("there is something of that name already; " + contents(file));
  if (there.empty()) return;
  const Handle object(checked(H5Oopen(file, there.c_str(), H5P_DEFAULT), "open " + there), H5Oclose);
  if (H5Iget_type(object) != H5I_GROUP)
    throw CheckpointError(fmt::format("{} is no group, so nothing can be in it; {}", there, contents(file)));
}

void rename_link(hid_t file, const std::string& from, const std::string& to) {
  checked(H5Lmove(file, from.c_str(), file, to.c_str(), link_list(), H5P_DEFAULT), "name the dataset");
}

void remove_link(hid_t file, const std::string& name) {
  checked(H5Ldelete(file, name.c_str(), H5P_DEFAULT), "remove the unfinished dataset");
}

Dataset open_dataset(hid_t file, const std::string& name) {
  Handle object(H5Oopen(file, name.c_str(), H5P_DEFAULT), H5Oclose);
  if (!object.is_open()) {
    const auto reason = why_not_open(file, name);
    if (longest_existing(file, name) != name) throw CheckpointError("there is no such dataset; " + contents(file));
    throw CheckpointError(fmt::format("there is {}{}; {}", name, reason, contents(file)));
  }
  if (H5Iget_type(object) != H5I_DATASET) throw CheckpointError("that is a group, not a dataset; " + contents(object, name));
  const Handle type(checked(H5Dget_type(object), "read the element type"), H5Tclose);
  const auto dtype = dtype_of_type(type);
  bool has_shape = false;
  const auto shape = shape_of(object, has_shape);
  if (!dtype || !has_shape)
    throw CheckpointError(
        fmt::format("it is {}, and an array needs a shape and a bool, integer, floating-point type to 64 bits or complex "
                    "{{r,i}}; {}",
                    description(object), contents(file)));
  return {std::move(object), shape, *dtype};
}

Dataset open_same(hid_t file, const std::string& name, const Found& found) {
  auto open = open_dataset(file, name);
  if (const Found here{open.dtype, open.shape}; here != found)
    throw CheckpointError(
        fmt::format("here it is {}, for rank 0 it is {}: do all ranks see the same file?", type_text(here), type_text(found)));
  return open;
}

LocalArray read_region(const Dataset& dataset, const Region& region) {
  LocalArray values(region.shape, dataset.dtype);
  if (values.size() == 0) return values;
  const auto type = memory_type(dataset.dtype, type_of(dataset.id));
  const Handle file_space(checked(H5Dget_space(dataset.id), "read the shape"), H5Sclose);
  const std::vector<hsize_t> start(region.start.begin(), region.start.end()), step(region.step.begin(), region.step.end()),
      count(region.shape.begin(), region.shape.end());
  const auto ndim = static_cast<int>(count.size());
  const Handle memory_space(checked(H5Screate_simple(ndim, count.data(), nullptr), "describe a box"), H5Sclose);
  if (ndim > 0) checked(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start.data(), step.data(), count.data(), nullptr), "select a box");
  checked(H5Dread(dataset.id, type, memory_space, file_space, H5P_DEFAULT, values.data()),
          fmt::format("read {} elements from ({})", to_string(region.shape), fmt::join(region.start, ", ")));
  if (dataset.dtype == bool_)
    for (auto* p = values.data(); p != values.data() + values.size(); ++p) *p = std::byte{*p != std::byte{0}};
  return values;
}

std::vector<std::byte> empty_file_image() {
  // In the oldest format: HDF5 1.10 hands out images of newer ones with a checksum that is not theirs.
  const auto access = access_list();
  checked(H5Pset_fapl_core(access, 1 << 12, 0), "choose a file in memory");
  const Handle file(checked(H5Fcreate("empty", H5F_ACC_TRUNC, H5P_DEFAULT, access), "make a file in memory"), H5Fclose);
  checked(H5Fflush(file, H5F_SCOPE_LOCAL), "finish a file in memory");
  const auto bytes = H5Fget_file_image(file, nullptr, 0);
  std::vector<std::byte> image(static_cast<std::size_t>(checked(bytes, "measure a file in memory")));
  checked(H5Fget_file_image(file, image.data(), image.size()), "copy a file in memory");
  return image;
}

}  // namespace meshwise::detail

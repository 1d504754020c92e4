#include "io/checkpoint/image_parts.hpp"

#include <algorithm>
#include <utility>

#include "meshwise/base/error.hpp"

namespace meshwise::detail {

Handle links() {
  Handle list(checked(H5Pcreate(H5P_LINK_CREATE), "make a link list"), H5Pclose);
  checked(H5Pset_create_intermediate_group(list, 1), "make groups");
  checked(H5Pset_char_encoding(list, H5T_CSET_UTF8), "name in UTF-8");
  return list;
}

Handle space_of(const std::vector<hsize_t>& lengths) {
  if (lengths.empty()) return {checked(H5Screate(H5S_SCALAR), "describe a scalar"), H5Sclose};
  return {checked(H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr), "describe a shape"), H5Sclose};
}

Handle contiguous() {
  Handle list(checked(H5Pcreate(H5P_DATASET_CREATE), "make a layout"), H5Pclose);
  checked(H5Pset_layout(list, H5D_CONTIGUOUS), "choose a contiguous layout");
  checked(H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY), "choose early allocation");
  checked(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER), "choose no fill");
  return list;
}

std::int64_t place_of(hid_t dataset) {
  const auto address = H5Dget_offset(dataset);
  if (address == HADDR_UNDEF) throw CheckpointError("HDF5 gave a dataset no place in the file");
  return static_cast<std::int64_t>(address);
}

void put_attribute(hid_t object, const char* name, hid_t type, const void* value) {
  const Handle space(checked(H5Screate(H5S_SCALAR), "describe a scalar"), H5Sclose);
  const Handle attribute(checked(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), "make an attribute"), H5Aclose);
  checked(H5Awrite(attribute, type, value), "write an attribute");
}

Handle text_type(std::size_t length) {
  Handle type(checked(H5Tcopy(H5T_C_S1), "make a type"), H5Tclose);
  checked(H5Tset_size(type, std::max<std::size_t>(length, 1)), "make a type");
  checked(H5Tset_cset(type, H5T_CSET_UTF8), "make a type");
  checked(H5Tset_strpad(type, H5T_STR_NULLPAD), "make a type");
  return type;
}

void put_attribute(hid_t object, const char* name, const std::string& value) {
  const auto text = value.empty() ? std::string(1, '\0') : value;
  put_attribute(object, name, text_type(text.size()), text.data());
}

void put_attribute(hid_t object, const char* name, std::int64_t value) { put_attribute(object, name, H5T_NATIVE_INT64, &value); }

std::vector<std::pair<std::int64_t, std::vector<std::byte>>> bytes_outside(const MemoryFile& file, std::vector<Extent> runs) {
  std::sort(runs.begin(), runs.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  std::vector<std::pair<std::int64_t, std::vector<std::byte>>> pieces;
  std::int64_t at = 0;
  for (const auto& run : runs) {
    if (at < run.offset) pieces.emplace_back(at, file.read(at, run.offset));
    at = run.offset + run.bytes;
  }
  if (at < file.size()) pieces.emplace_back(at, file.read(at, file.size()));
  return pieces;
}

}  // namespace meshwise::detail

// What is made in a file without values: datasets with room for their bytes, groups that know what they are.
#include <fmt/format.h>

#include "io/hdf5_file.hpp"
#include "io/hdf5_types.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

std::int64_t make_dataset(hid_t file, const std::string& name, const Found& type) {
  const Handle layout(checked(H5Pcreate(H5P_DATASET_CREATE), "make a layout"), H5Pclose);
  checked(H5Pset_layout(layout, H5D_CONTIGUOUS), "choose a contiguous layout");
  checked(H5Pset_alloc_time(layout, H5D_ALLOC_TIME_EARLY), "choose early allocation");
  checked(H5Pset_fill_time(layout, H5D_FILL_TIME_NEVER), "choose no fill");
  const std::vector<hsize_t> lengths(type.shape.begin(), type.shape.end());
  const Handle space(checked(H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr), "describe the shape"), H5Sclose);
  Handle dataset(
      checked(H5Dcreate2(file, name.c_str(), stored_type(type.dtype), space, link_list(), layout, H5P_DEFAULT), "make the dataset"),
      H5Dclose);
  const auto address = H5Dget_offset(dataset);
  const bool has_values = type.shape.num_elements() > 0;
  if (address == HADDR_UNDEF && has_values) throw CheckpointError("HDF5 gave the dataset no place in the file");
  checked(dataset.close(), "finish the dataset");
  return has_values ? static_cast<std::int64_t>(address) : 0;
}

void make_group(hid_t file, const std::string& name, const std::string& kind) {
  const bool there = exists(file, name);
  Handle group(
      checked(there ? H5Gopen2(file, name.c_str(), H5P_DEFAULT) : H5Gcreate2(file, name.c_str(), link_list(), H5P_DEFAULT, H5P_DEFAULT),
              "make a group"),
      H5Gclose);
  if (kind != "dict") set_text_attribute(group, "meshwise_kind", kind);
  checked(group.close(), "finish a group");
}

}  // namespace

std::vector<std::int64_t> lay_out(const std::string& path, const std::string& root, std::span<const LaidOut> items) {
  auto file = open_file(path, true);
  std::vector<std::int64_t> offsets;
  for (const auto& item : items) {
    const auto name = object_name(root + "/" + item.name);
    if (item.kind.empty())
      offsets.push_back(make_dataset(file, name, item.type));
    else
      make_group(file, name, item.kind);
  }
  checked(file.close(), "finish the file");
  return offsets;
}

void set_text_attribute(hid_t object, const char* name, const std::string& text) {
  const Handle type(checked(H5Tcopy(H5T_C_S1), "describe a text"), H5Tclose),
      space(checked(H5Screate(H5S_SCALAR), "describe a text"), H5Sclose);
  checked(H5Tset_size(type, text.size() + 1), "describe a text");
  const Handle attribute(checked(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), "make an attribute"), H5Aclose);
  checked(H5Awrite(attribute, type, text.c_str()), "write an attribute");
}

std::string text_attribute(hid_t object, const char* name) {
  if (checked(H5Aexists(object, name), "look for an attribute") == 0) return {};
  const Handle attribute(checked(H5Aopen(object, name, H5P_DEFAULT), "open an attribute"), H5Aclose);
  const Handle type(checked(H5Aget_type(attribute), "read an attribute"), H5Tclose),
      space(checked(H5Aget_space(attribute), "read an attribute"), H5Sclose);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 || H5Sget_simple_extent_npoints(space) != 1) return {};
  std::string text(H5Tget_size(type), '\0');
  checked(H5Aread(attribute, type, text.data()), "read an attribute");
  return text.substr(0, text.find('\0'));
}

}  // namespace meshwise::detail

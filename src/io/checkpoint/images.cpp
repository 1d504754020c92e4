#include "io/checkpoint/images.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "io/checkpoint/crc32c.hpp"
#include "io/checkpoint/image_parts.hpp"
#include "io/checkpoint/memory_file.hpp"
#include "io/hdf5_types.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

Extent put_dataset(hid_t group, const char* name, hid_t type, const std::vector<hsize_t>& lengths, const void* values, std::size_t bytes) {
  const auto space = space_of(lengths);
  const Handle dataset(checked(H5Dcreate2(group, name, type, space, H5P_DEFAULT, contiguous(), H5P_DEFAULT), "make a dataset"), H5Dclose);
  if (bytes == 0) return {};
  checked(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "write a dataset");
  return {place_of(dataset), static_cast<std::int64_t>(bytes)};
}

// NaN where a shard file is missing: HDF5 reads a virtual dataset's holes as the fill value, without a word.
void set_fill(hid_t list, const StoredArray& array, hid_t type) {
  if (!is_floating(array.dtype)) return;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (array.dtype == float64) checked(H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &nan), "choose the fill");
  const auto single = static_cast<float>(nan);
  if (array.dtype == float32) checked(H5Pset_fill_value(list, H5T_NATIVE_FLOAT, &single), "choose the fill");
  const std::uint16_t half = array.dtype == bfloat16 ? 0x7FC0 : 0x7E00;
  if (array.dtype == float16 || array.dtype == bfloat16) checked(H5Pset_fill_value(list, type, &half), "choose the fill");
}

void select_box(hid_t space, const Index& box) {
  std::vector<hsize_t> start, count;
  for (const auto& range : box) {
    start.push_back(static_cast<hsize_t>(range.start));
    count.push_back(static_cast<hsize_t>(range.size()));
  }
  if (!start.empty()) checked(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), "select a box");
}

void put_virtual(hid_t file, const Manifest& m, const StoredArray& array, const Handle& link_list) {
  const std::vector<hsize_t> lengths(array.shape.begin(), array.shape.end());
  const auto space = space_of(lengths);
  const auto type = stored_type(array.dtype);
  const Handle list(checked(H5Pcreate(H5P_DATASET_CREATE), "make a layout"), H5Pclose);
  set_fill(list, array, type);
  for (const auto& stored : m.boxes_of(array)) {
    const auto& shard = m.files[static_cast<std::size_t>(stored.file)];
    const auto run = std::find_if(shard.runs.begin(), shard.runs.end(), [&](const StoredRun& r) { return r.dtype == array.dtype; });
    const auto size = static_cast<std::int64_t>(itemsize(array.dtype));
    const auto source = space_of({static_cast<hsize_t>(run->bytes / size)});
    const hsize_t start = static_cast<hsize_t>((stored.offset - run->offset) / size),
                  count = static_cast<hsize_t>(stored.box.num_elements());
    checked(H5Sselect_hyperslab(source, H5S_SELECT_SET, &start, nullptr, &count, nullptr), "select a run");
    select_box(space, stored.box);
    checked(H5Pset_virtual(list, space, shard.name.c_str(), ("/" + std::string(name(array.dtype))).c_str(), source),
            "map a virtual dataset");
  }
  if (!lengths.empty()) checked(H5Sselect_all(space), "select all");
  const Handle dataset(
      checked(H5Dcreate2(file, ("/arrays/" + array.name).c_str(), type, space, link_list, list, H5P_DEFAULT), "make a virtual dataset"),
      H5Dclose);
  put_attribute(dataset, "dtype", std::string(name(array.dtype)));
  if (array.sharding >= 0) put_attribute(dataset, "sharding", to_string(m.shardings[static_cast<std::size_t>(array.sharding)]));
}

}  // namespace

std::uint32_t ShardImage::checksum() const {
  std::uint32_t crc = 0;
  for (const auto& [offset, piece] : rest) crc = crc32c(piece, crc);
  return crc;
}

ShardImage make_shard_image(const std::vector<std::int64_t>& run_bytes, std::int64_t writer, std::int64_t step, const std::string& uuid) {
  const QuietErrors quiet;
  ShardImage image;
  MemoryFile file;
  put_attribute(file.id(), "format", std::string("meshwise checkpoint shard"));
  put_attribute(file.id(), "format_version", format_version);
  put_attribute(file.id(), "writer", writer);
  put_attribute(file.id(), "step", step);
  put_attribute(file.id(), "uuid", uuid);
  for (std::size_t d = 0; d < run_bytes.size(); ++d) {
    if (run_bytes[d] == 0) continue;
    const auto dtype = static_cast<Dtype>(d);
    const auto space = space_of({static_cast<hsize_t>(run_bytes[d]) / itemsize(dtype)});
    const Handle dataset(
        checked(H5Dcreate2(file.id(), std::string(name(dtype)).c_str(), stored_type(dtype), space, H5P_DEFAULT, contiguous(), H5P_DEFAULT),
                "make a dataset"),
        H5Dclose);
    image.runs.push_back({dtype, place_of(dataset), run_bytes[d], 0});
  }
  file.finish();
  image.bytes = file.size();
  std::sort(image.runs.begin(), image.runs.end(), [](const StoredRun& a, const StoredRun& b) { return a.offset < b.offset; });
  std::vector<Extent> runs;
  for (const auto& run : image.runs) runs.push_back({run.offset, run.bytes});
  image.rest = bytes_outside(file, std::move(runs));
  return image;
}

IndexImage make_index_image(const Manifest& m) {
  const QuietErrors quiet;
  IndexImage image;
  MemoryFile file;
  put_attribute(file.id(), "format", std::string("meshwise checkpoint"));
  put_attribute(file.id(), "format_version", format_version);
  put_attribute(file.id(), "step", m.step);
  put_attribute(file.id(), "uuid", m.uuid);
  put_attribute(file.id(), "created", m.created);
  put_attribute(file.id(), "library", m.library);
  const auto link_list = links();
  Handle arrays(checked(H5Gcreate2(file.id(), "/arrays", link_list, H5P_DEFAULT, H5P_DEFAULT), "make a group"), H5Gclose);
  for (const auto& array : m.arrays)
    if (array.is_virtual) put_virtual(file.id(), m, array, link_list);
  Handle group(checked(H5Gcreate2(file.id(), "/checkpoint", link_list, H5P_DEFAULT, H5P_DEFAULT), "make a group"), H5Gclose);
  const auto parts = encode(m);
  image.text = put_dataset(group, "manifest", text_type(parts.text.size()), {}, parts.text.data(), parts.text.size());
  image.places = put_dataset(group, "boxes", H5T_STD_I64LE, {parts.places.size() / 2, 2}, parts.places.data(), parts.places.size() * 8);
  image.ranges = put_dataset(group, "ranges", H5T_STD_I64LE, {parts.ranges.size() / 2, 2}, parts.ranges.data(), parts.ranges.size() * 8);
  image.checksums =
      put_dataset(group, "checksums", H5T_STD_U32LE, {parts.checksums.size()}, parts.checksums.data(), parts.checksums.size() * 4);
  checked(arrays.close(), "finish a group");  // an open group would keep the file open
  checked(group.close(), "finish a group");
  file.finish();
  image.bytes = file.read(0, file.size());
  return image;
}

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace meshwise::detail

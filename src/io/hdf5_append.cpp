// Values through HDF5, so that chunks, compression and byte order are its affair: one rank after the other, no rank waiting for another inside it.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "array/state.hpp"
#include "io/agreement.hpp"
#include "io/draft.hpp"
#include "io/hdf5_file.hpp"
#include "io/hdf5_types.hpp"
#include "io/placed.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/io/hdf5.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::io {

namespace {

using detail::agreed, detail::checked, detail::Handle;

constexpr std::int64_t chunk_bytes = 1 << 18, index_bytes = 1 << 9;

// What every rank knows of the dataset that grows.
struct Growing {
  std::string path, name;
  std::int64_t before = 0;  // its length along the axis
  Shape chunks{};
};

std::string pack(const Growing& g) {
  detail::PackedText text;
  text.add(g.path);
  text.add(g.name);
  text.add(g.before);
  text.add(g.chunks);
  return text.text();
}

Growing unpack(const std::string& packed) {
  detail::UnpackedText text(packed);
  auto path = text.words(), name = text.words();
  const auto before = text.number();
  return {std::move(path), std::move(name), before, text.shape()};
}

// Chunks of a new dataset: of rows that are as long as fits, and as many as fit, however few are appended at a time.
Shape chunks_for(const Shape& shape, Dtype dtype, std::int64_t axis) {
  auto chunks = shape;
  chunks[axis] = 1;
  for (std::int64_t d = 0; d < chunks.ndim(); ++d) chunks[d] = std::max<std::int64_t>(1, chunks[d]);
  const auto most = chunk_bytes / static_cast<std::int64_t>(itemsize(dtype));
  while (chunks.num_elements() > most) {
    std::int64_t longest = 0;
    for (std::int64_t d = 1; d < chunks.ndim(); ++d) longest = chunks[d] > chunks[longest] ? d : longest;
    chunks[longest] = (chunks[longest] + 1) / 2;
  }
  chunks[axis] = most / chunks.num_elements();
  return chunks;
}

// The bytes of all chunks that a box touches, compressed badly, and of the index of them.
std::int64_t room_for(const Index& box, const Shape& chunks, Dtype dtype) {
  std::int64_t count = box.empty() ? 0 : 1;
  for (std::int64_t d = 0; d < box.ndim() && count > 0; ++d) count *= (box[d].stop - 1) / chunks[d] - box[d].start / chunks[d] + 1;
  const auto bytes = chunks.num_elements() * static_cast<std::int64_t>(itemsize(dtype));
  return count * (bytes + bytes / 64 + index_bytes);
}

Index shifted(Index box, std::int64_t axis, std::int64_t by) {
  box[axis].start += by;
  box[axis].stop += by;
  return box;
}

void make_extensible(hid_t file, const std::string& name, const Array& x, const Shape& chunks, std::int64_t axis) {
  const std::vector<hsize_t> lengths(x.shape().begin(), x.shape().end()), pieces(chunks.begin(), chunks.end());
  auto most = lengths;
  most[static_cast<std::size_t>(axis)] = H5S_UNLIMITED;
  const auto ndim = static_cast<int>(lengths.size());
  const Handle layout(checked(H5Pcreate(H5P_DATASET_CREATE), "make a layout"), H5Pclose);
  checked(H5Pset_chunk(layout, ndim, pieces.data()), "choose chunks");
  const Handle space(checked(H5Screate_simple(ndim, lengths.data(), most.data()), "describe the shape"), H5Sclose);
  Handle dataset(checked(H5Dcreate2(file, name.c_str(), detail::stored_type(x.dtype()), space, detail::link_list(), layout, H5P_DEFAULT),
                         "make the dataset"),
                 H5Dclose);
  checked(dataset.close(), "finish the dataset");
}

std::vector<hsize_t> lengths_of(hid_t dataset, std::vector<hsize_t>* most = nullptr) {
  const Handle space(checked(H5Dget_space(dataset), "read the shape"), H5Sclose);
  std::vector<hsize_t> lengths(static_cast<std::size_t>(checked(H5Sget_simple_extent_ndims(space), "read the shape")));
  if (most) most->resize(lengths.size());
  checked(H5Sget_simple_extent_dims(space, lengths.data(), most ? most->data() : nullptr), "read the shape");
  return lengths;
}

void set_length(const std::string& path, const std::string& name, std::int64_t axis, std::int64_t length) {
  auto file = detail::open_file(path, true);
  Handle dataset(checked(H5Dopen2(file, name.c_str(), H5P_DEFAULT), "open the dataset"), H5Dclose);
  auto lengths = lengths_of(dataset);
  lengths[static_cast<std::size_t>(axis)] = static_cast<hsize_t>(length);
  checked(H5Dset_extent(dataset, lengths.data()), "change the dataset's length");
  checked(dataset.close(), "finish the dataset");
  checked(file.close(), "finish the file");
}

// Why x cannot be appended to what is there, or nothing; the first letter is the error's.
std::string misfit(const detail::Dataset& dataset, const Array& x, std::int64_t axis) {
  const auto there = fmt::format("the dataset is {}[{}], x is {}", name(dataset.dtype), joined(dataset.shape), type_string(x));
  bool fits = dataset.shape.ndim() == x.ndim();
  for (std::int64_t d = 0; fits && d < x.ndim(); ++d) fits = d == axis || dataset.shape[d] == x.shape()[d];
  if (!fits) return fmt::format("S{}; all lengths but that of axis {} must be equal", there, axis);
  if (dataset.dtype != x.dtype()) return fmt::format("D{}; x.astype({}) converts", there, name(dataset.dtype));
  return {};
}

// An existing dataset is long enough for x when this ends. Throws: CheckpointError when it cannot grow so.
Growing grow(hid_t file, const std::string& path, const std::string& name, const Array& x, std::int64_t axis, std::string& wrong) {
  const auto dataset = detail::open_dataset(file, name);
  wrong = misfit(dataset, x, axis);
  if (!wrong.empty()) return {};
  const auto there = detail::type_text({dataset.dtype, dataset.shape});
  const Handle type(checked(H5Dget_type(dataset.id), "read the element type"), H5Tclose),
      layout(checked(H5Dget_create_plist(dataset.id), "read the layout"), H5Pclose);
  if (H5Tget_size(type) != itemsize(x.dtype()))
    throw CheckpointError(fmt::format("it stores {} in {} bytes an element, which does not hold every value", there, H5Tget_size(type)));
  std::vector<hsize_t> most;
  const auto lengths = lengths_of(dataset.id, &most);
  const auto d = static_cast<std::size_t>(axis);
  const auto wanted = lengths[d] + static_cast<hsize_t>(x.shape()[axis]);
  if (H5Pget_layout(layout) != H5D_CHUNKED)
    throw CheckpointError(
        fmt::format("the dataset {} cannot grow: it is not chunked; io::append makes datasets that can, and h5py with maxshape", there));
  if (most[d] != H5S_UNLIMITED && wanted > most[d])
    throw CheckpointError(
        fmt::format("the dataset {} cannot grow to {} along axis {}: {} is its largest length there", there, wanted, axis, most[d]));
  std::vector<hsize_t> chunks(lengths.size());
  checked(H5Pget_chunk(layout, static_cast<int>(chunks.size()), chunks.data()), "read the chunks");
  return {path, name, static_cast<std::int64_t>(lengths[d]), Shape(std::vector<std::int64_t>(chunks.begin(), chunks.end()))};
}

void write_mine(const Array& x, const Growing& growing, std::int64_t axis) {
  std::int64_t bytes = 0;
  detail::for_each_piece(
      x, [&](const Index& box, const LocalArray&) { bytes += room_for(shifted(box, axis, growing.before), growing.chunks, x.dtype()); });
  detail::reserve(growing.path, bytes);
  auto file = detail::open_file(growing.path, true);
  Handle dataset(checked(H5Dopen2(file, growing.name.c_str(), H5P_DEFAULT), "open the dataset"), H5Dclose);
  const Handle file_type(checked(H5Dget_type(dataset), "read the element type"), H5Tclose);
  // As what it is in the file too: integers do not convert to an enum.
  const auto type = x.dtype() == bool_ ? detail::stored_type(bool_) : detail::memory_type(x.dtype(), file_type);
  detail::for_each_piece(x, [&](const Index& box, const LocalArray& values) {
    std::vector<hsize_t> start, count;
    for (const auto& range : shifted(box, axis, growing.before)) {
      start.push_back(static_cast<hsize_t>(range.start));
      count.push_back(static_cast<hsize_t>(range.size()));
    }
    const Handle there(checked(H5Dget_space(dataset), "read the shape"), H5Sclose),
        here(checked(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), "describe a box"), H5Sclose);
    checked(H5Sselect_hyperslab(there, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), "select a box");
    checked(H5Dwrite(dataset, type, here, there, H5P_DEFAULT, values.data()), "write a box");
  });
  checked(dataset.close(), "finish the dataset");
  checked(file.close(), "finish the file");
  detail::sync_file(growing.path);
}

}  // namespace

void append(const std::string& file, const std::string& dataset, const Array& x, std::int64_t axis) {
  const auto ticket = detail::enter_world_call({"io::append", detail::hash_text("io::append")});
  const auto call = fmt::format("io::append('{}', '{}', {}, axis {})", file, dataset, type_string(x), axis);
  detail::same_call("io::append",
                    fmt::format("{} on {}{}", call, detail::words_of(x.sharding()), x.is_deleted() ? ", a deleted array" : ""), ticket);
  detail::check_alive(x, "io::append", "x");
  if (x.ndim() == 0) throw ShapeError(call + ": a scalar has no axis to append along; reshape({1}) gives it one");
  axis = normalize_axis(axis, x.ndim(), "io::append");

  detail::Draft draft;
  bool is_new = true;
  std::string wrong;
  const auto plan = agreed(call, ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    const detail::QuietErrors quiet;
    const auto name = detail::normalized_name(dataset);
    std::error_code none;
    if (std::filesystem::exists(file, none)) {
      auto open = detail::open_file(file, true);
      if (detail::exists(open, name)) {
        is_new = false;
        const auto growing = grow(open, file, name, x, axis, wrong);
        checked(open.close(), "close the file");
        if (!wrong.empty()) return wrong;
        // The room for all of it is there now, if not yet taken; before anything has changed.
        detail::reserve(file, room_for(shifted(Index::whole(x.shape()), axis, growing.before), growing.chunks, x.dtype()));
        set_length(file, name, axis, growing.before + x.shape()[axis]);
        return pack(growing);
      }
    }
    const auto chunks = chunks_for(x.shape(), x.dtype(), axis);
    draft = detail::begin_draft(file, name, room_for(Index::whole(x.shape()), chunks, x.dtype()), true, [&](detail::Draft& made) {
      auto open = detail::open_file(made.path, true);
      make_extensible(open, made.made_as(), x, chunks, axis);
      checked(open.close(), "finish the file");
    });
    return pack({draft.path, draft.made_as(), 0, chunks});
  })[0];
  if (plan.starts_with('S')) throw ShapeError(fmt::format("{}: {}", call, plan.substr(1)));
  if (plan.starts_with('D')) throw DtypeError(fmt::format("{}: {}", call, plan.substr(1)));
  const auto growing = unpack(plan);
  try {
    for (const auto rank : detail::writing_ranks(x))
      agreed(call, ticket, [&] {
        const detail::QuietErrors quiet;
        if (process_index() == rank) write_mine(x, growing, axis);
        return std::string();
      });
    agreed(call, ticket, [&] {
      const detail::QuietErrors quiet;
      if (process_index() == 0) is_new ? detail::publish(draft) : detail::sync_file(file);
      return std::string();
    });
  } catch (...) {
    const detail::QuietErrors quiet;
    if (process_index() == 0) {
      if (is_new)
        detail::discard(draft);
      else
        try {
          set_length(file, growing.name, axis, growing.before);
        } catch (const std::exception&) {  // it stays longer than it was, with fill values
        }
    }
    throw;
  }
}

}  // namespace meshwise::io

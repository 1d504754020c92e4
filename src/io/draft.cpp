#include "io/draft.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <span>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "io/hdf5_file.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

// What HDF5 may add beside the values: groups, headers, a gap before an aligned address.
constexpr std::int64_t metadata_room = 1 << 16;

std::string unused_suffix() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace

std::string replaced_file(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code none;
  const auto status = fs::status(file, none);
  if (!fs::exists(status)) return file;
  if (fs::is_directory(status)) throw CheckpointError("it is a directory, not a file");
  if (!fs::is_regular_file(status)) throw CheckpointError("it is not a regular file");
  if (::access(file.c_str(), W_OK) != 0) throw CheckpointError(system_reason(errno, file));
  return fs::canonical(file).string();
}

void reserve(const std::string& path, std::int64_t bytes) {
  const auto file = DiskFile::open_to_write(path);
  file.reserve(bytes + metadata_room, file.size());
}

Draft begin_draft(const std::string& file, const std::string& name, std::int64_t bytes, bool append,
                  const std::function<void(Draft&)>& lay_out) {
  Draft draft;
  draft.name = object_name(name);
  draft.target = replaced_file(file);
  std::error_code none;
  if (append && std::filesystem::exists(draft.target, none)) {  // in place: the file may be far larger than the dataset
    draft.path = draft.target;
    auto open = open_file(draft.path, true);
    check_free(open, draft.name);
    draft.link = "/.meshwise-unfinished-" + unused_suffix();
    checked(open.close(), "close the file");
  } else {
    draft.path = fmt::format("{}.unfinished-{}", draft.target, unused_suffix());
  }
  try {
    // Of HDF5's bytes, but not made by HDF5: a file whose first write failed it can never close, and says so without end when the program ends.
    if (draft.link.empty()) {
      const auto image = empty_file_image();
      DiskFile::create(draft.path).write(std::as_bytes(std::span(image)), 0);
    }
    reserve(draft.path, bytes);
    lay_out(draft);
  } catch (...) {
    discard(draft);
    throw;
  }
  return draft;
}

Draft begin_draft(const std::string& file, const std::string& name, std::span<const LaidOut> items, bool append) {
  constexpr std::int64_t room_of_one = 1 << 13;  // its header, its group's table, the gap before an aligned address
  std::int64_t bytes = 0;
  for (const auto& item : items)
    bytes += room_of_one + item.type.shape.num_elements() * static_cast<std::int64_t>(itemsize(item.type.dtype));
  return begin_draft(file, name, bytes, append, [&](Draft& draft) { draft.offsets = lay_out(draft.path, draft.made_as(), items); });
}

Draft begin_draft(const std::string& file, const std::string& first_bytes, std::int64_t bytes) {
  Draft draft;
  draft.target = replaced_file(file);
  draft.path = fmt::format("{}.unfinished-{}", draft.target, unused_suffix());
  const auto begin = static_cast<std::int64_t>(first_bytes.size());
  draft.offsets = {begin};
  try {
    const auto made = DiskFile::create(draft.path);
    made.reserve(begin + bytes);
    made.write(bytes_of(first_bytes), 0);
  } catch (...) {
    discard(draft);
    throw;
  }
  return draft;
}

void sync_file(const std::string& path) { DiskFile::open(path).sync_and_close(); }

void publish(const Draft& draft) {
  if (!draft.link.empty()) {
    auto file = open_file(draft.path, true);
    rename_link(file, draft.link, draft.name);
    checked(file.close(), "finish the file");
  } else {
    struct stat old {};
    if (::stat(draft.target.c_str(), &old) == 0) static_cast<void>(::chmod(draft.path.c_str(), old.st_mode & 07777) == 0);
  }
  sync_file(draft.path);
  if (!draft.link.empty()) return;
  rename_entry(draft.path, draft.target);
  const auto folder = std::filesystem::path(draft.target).parent_path().string();
  try {  // the name too shall survive a power cut
    sync_folder(folder.empty() ? "." : folder);
  } catch (const DiskError&) {
    // It has its name, and where a folder cannot be synchronised there is nothing to do about it.
  }
}

void discard(const Draft& draft) noexcept {
  if (draft.link.empty()) {
    ::unlink(draft.path.c_str());
    return;
  }
  try {
    const auto file = open_file(draft.path, true);
    if (exists(file, draft.link)) remove_link(file, draft.link);
  } catch (const std::exception&) {  // a name that says it is unfinished stays
  }
}

void BoxWriter::write(const Index& box, const std::byte* values) {
  if (box.empty()) return;
  const auto steps = row_major_strides(shape_);
  const auto length = run_length(shape_, box);
  // Axes that a run covers: after them an odometer over the others, last one fastest, as the values lie.
  auto axes = box.ndim();
  for (std::int64_t covered = 1; axes > 0 && covered < length;) covered *= box[--axes].size();
  std::vector<std::int64_t> at;
  for (const auto& range : box) at.push_back(range.start);
  for (;;) {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < at.size(); ++d) element += at[d] * steps[d];
    const auto bytes = length * itemsize_;
    file_.write({values, static_cast<std::size_t>(bytes)}, offset_ + element * itemsize_);
    values += bytes;
    auto axis = axes;
    while (axis-- > 0) {
      if (++at[static_cast<std::size_t>(axis)] < box[axis].stop) break;
      at[static_cast<std::size_t>(axis)] = box[axis].start;
    }
    if (axis < 0) return;
  }
}

std::int64_t run_length(const Shape& shape, const Index& box) {
  std::int64_t length = 1;
  for (auto axis = shape.ndim(); axis-- > 0;) {
    length *= box[axis].size();
    if (box[axis].size() != shape[axis]) break;
  }
  return length;
}

}  // namespace meshwise::detail

#include "io/checkpoint/export.hpp"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "array/convert.hpp"
#include "io/checkpoint/image_parts.hpp"
#include "io/checkpoint/memory_file.hpp"
#include "io/checkpoint/steps.hpp"
#include "io/disk.hpp"
#include "io/draft.hpp"
#include "io/hdf5_types.hpp"
#include "io/npy_header.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

constexpr std::int64_t piece_bytes = std::int64_t{32} << 20;

// A file that gets its name when it is whole.
class Output {
 public:
  explicit Output(const std::string& name) : draft_(draft_of(name)), file_(DiskFile::create(draft_.path)) {}
  ~Output() {
    if (!published_) discard(draft_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  const DiskFile& file() const { return file_; }
  void publish() {
    file_.sync_and_close();
    detail::publish(draft_);
    published_ = true;
  }

 private:
  static Draft draft_of(const std::string& name) {
    const auto folder = std::filesystem::path(name).parent_path();
    std::error_code error;
    if (!folder.empty() && !std::filesystem::is_directory(folder, error))
      throw CheckpointError(fmt::format("cannot write '{}': there is no folder '{}'", name, folder.string()));
    try {
      Draft draft;
      draft.target = replaced_file(name);
      draft.path = fmt::format("{}.unfinished-{}", draft.target, make_uuid().substr(0, 16));
      return draft;
    } catch (const CheckpointError& e) {
      throw CheckpointError(fmt::format("cannot write '{}': {}", name, e.what()));
    }
  }

  Draft draft_;
  DiskFile file_;
  bool published_ = false;
};

class Count {
 public:
  Count(const ExportProgress& progress, std::int64_t total) : progress_(progress), total_(total) {}
  void add(std::int64_t bytes) {
    done_ += bytes;
    if (progress_) progress_(done_, total_);
  }

 private:
  const ExportProgress& progress_;
  std::int64_t total_, done_ = 0;
};

// The boxes come row by row, so each lies behind the one before.
void write_values(StepReader& step, const StoredArray& array, Dtype dtype, const DiskFile& file, std::int64_t at, Count& count) {
  std::vector<std::byte> converted;
  step.in_rows(array, piece_bytes, [&](const Index&, const LocalArray& values) {
    std::span<const std::byte> bytes(values.data(), static_cast<std::size_t>(values.nbytes()));
    if (dtype != array.dtype) {
      converted.resize(static_cast<std::size_t>(values.size()) * itemsize(dtype));
      convert_values(array.dtype, values.data(), dtype, converted.data(), values.size());
      bytes = converted;
    }
    file.write(bytes, at);
    file.start_sync(at, std::ssize(bytes));
    at += std::ssize(bytes);
    count.add(values.nbytes());
  });
}

void put_step_attributes(hid_t root, const Manifest& m) {
  put_attribute(root, "format", std::string("meshwise export"));
  put_attribute(root, "step", m.step);
  put_attribute(root, "uuid", m.uuid);
  put_attribute(root, "created", m.created);
  put_attribute(root, "library", m.library);
  put_attribute(root, "tree", m.tree);
  if (!m.metadata.empty()) put_attribute(root, "metadata", m.metadata);
  if (!m.metrics.empty()) put_attribute(root, "metrics", nlohmann::json(m.metrics).dump());
}

}  // namespace

void export_hdf5(StepReader& step, const std::vector<const StoredArray*>& arrays, const std::string& name, const ExportProgress& progress) {
  const QuietErrors quiet;
  const auto& m = step.manifest();
  Output out(name);  // before anything that takes long: the name may be of no use
  MemoryFile image;
  put_step_attributes(image.id(), m);
  const auto link_list = links();
  std::vector<Extent> places;
  std::int64_t total = 0;
  for (const auto* stored : arrays) {
    const auto& array = *stored;
    const auto space = space_of({array.shape.begin(), array.shape.end()});
    const Handle dataset(
        checked(H5Dcreate2(image.id(), ("/" + array.name).c_str(), stored_type(array.dtype), space, link_list, contiguous(), H5P_DEFAULT),
                fmt::format("make the dataset {}", array.name)),
        H5Dclose);
    put_attribute(dataset, "dtype", std::string(meshwise::name(array.dtype)));
    if (array.sharding >= 0) put_attribute(dataset, "sharding", to_string(m.shardings[static_cast<std::size_t>(array.sharding)]));
    places.push_back(array.nbytes() > 0 ? Extent{place_of(dataset), array.nbytes()} : Extent{});
    total += array.nbytes();
  }
  image.finish();
  out.file().reserve(image.size());
  for (const auto& [offset, bytes] : bytes_outside(image, places)) out.file().write(bytes, offset);
  Count count(progress, total);
  for (std::size_t a = 0; a < places.size(); ++a) write_values(step, *arrays[a], arrays[a]->dtype, out.file(), places[a].offset, count);
  out.publish();
}

void export_npy(StepReader& step, const StoredArray& array, const std::string& name, const ExportProgress& progress) {
  Output out(name);
  const auto dtype = array.dtype == bfloat16 ? float32 : array.dtype;
  const auto header = npy_header({dtype, array.shape});
  out.file().reserve(std::ssize(header) + array.shape.num_elements() * static_cast<std::int64_t>(itemsize(dtype)));
  out.file().write(bytes_of(header), 0);
  Count count(progress, array.nbytes());
  write_values(step, array, dtype, out.file(), std::ssize(header), count);
  out.publish();
}

}  // namespace meshwise::detail

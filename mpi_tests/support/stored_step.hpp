// Steps as a job of any number of ranks would have saved them, made by one process: always the same bytes of values, names and dates.
#pragma once

#include <complex>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "io/checkpoint/commit.hpp"
#include "io/checkpoint/crc32c.hpp"
#include "io/checkpoint/images.hpp"
#include "io/checkpoint/manifest.hpp"
#include "io/checkpoint/steps.hpp"
#include "plan/storage.hpp"

namespace stored_step {

namespace mw = meshwise;
namespace detail = meshwise::detail;

/// Writes element i, row-major, of an array.
using Rule = std::function<void(std::int64_t i, std::byte* out)>;

struct ArrayOfStep {
  std::string name;
  mw::Dtype dtype;
  mw::Shape shape;
  std::optional<mw::Sharding> sharding{};
  Rule rule{};
  bool is_virtual = true;
};

struct StepOfRun {
  std::int64_t step = 1, ranks = 1;
  std::vector<ArrayOfStep> arrays{};
  std::string tree{}, metadata{};
  std::map<std::string, double> metrics{};
  std::string uuid = "000102030405060708090a0b0c0d0e0f", created = "2026-01-02T03:04:05Z";
};

/// Element i is `first + i * step`, of complex arrays with the imaginary part i.
inline Rule counting(mw::Dtype dtype, double first, double step) {
  return [=](std::int64_t i, std::byte* out) {
    const double v = first + static_cast<double>(i) * step;
    mw::visit(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T value{};
      if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
        value = {static_cast<typename T::value_type>(v), static_cast<typename T::value_type>(i)};
      else if constexpr (std::is_same_v<T, mw::float16_t> || std::is_same_v<T, mw::bfloat16_t>) value = T(static_cast<float>(v));
      else if constexpr (std::is_same_v<T, bool>) value = i % 2 == 1;
      else if constexpr (std::is_integral_v<T>) value = static_cast<T>(static_cast<std::int64_t>(v));
      else value = static_cast<T>(v);
      std::memcpy(out, &value, sizeof value);
    });
  };
}

inline mw::NamedSharding on_mesh(const std::vector<std::int64_t>& sizes, const std::vector<std::string>& names, const mw::PartitionSpec& spec) {
  std::int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return {mw::make_mesh(sizes, names, {.devices = mw::DeviceList::virtual_devices(count)}), spec};
}

inline void write_file(const std::string& path, const std::vector<std::byte>& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

inline std::string store(const std::string& root, const StepOfRun& s) {
  const auto folder = root + "/" + detail::step_name(s.step);
  std::vector<detail::ArrayToStore> to_store;
  for (const auto& array : s.arrays) to_store.push_back({array.shape, array.dtype, array.sharding});
  const auto plan = detail::plan_storage(to_store, s.ranks);
  detail::Manifest m;
  m.step = s.step, m.uuid = s.uuid, m.created = s.created, m.library = "meshwise 0.1.0", m.hdf5 = "1.10.8", m.world_size = s.ranks;
  m.tree = s.tree, m.metadata = s.metadata, m.metrics = s.metrics;
  detail::Commit commit{s.step, s.uuid, {{}}};

  std::vector<std::int64_t> file_of_rank;
  std::vector<std::vector<std::byte>> files;
  for (std::int64_t rank = 0; rank < s.ranks; ++rank) {
    const auto image = detail::make_shard_image(plan.run_bytes[static_cast<std::size_t>(rank)], rank, s.step, s.uuid);
    file_of_rank.push_back(image.runs.empty() ? -1 : std::ssize(files));
    if (image.runs.empty()) continue;
    files.emplace_back(static_cast<std::size_t>(image.bytes));
    for (const auto& [offset, bytes] : image.rest) std::memcpy(files.back().data() + offset, bytes.data(), bytes.size());
    m.files.push_back({fmt::format("shards/{:05d}.h5", rank), image.runs});
    commit.files.push_back({m.files.back().name, image.bytes, image.checksum(), {}});
    for (const auto& run : image.runs) commit.files.back().runs.push_back({run.offset, run.bytes});
  }
  for (std::size_t a = 0; a < s.arrays.size(); ++a) {
    const auto& array = s.arrays[a];
    const auto size = static_cast<std::int64_t>(mw::itemsize(array.dtype));
    detail::StoredArray stored{array.name, array.dtype, array.shape, -1, std::ssize(m.boxes), 0, array.is_virtual};
    if (array.sharding) {
      const auto sharding = detail::describe(*array.sharding);
      const auto found = std::find(m.shardings.begin(), m.shardings.end(), sharding);
      stored.sharding = found - m.shardings.begin();
      if (found == m.shardings.end()) m.shardings.push_back(sharding);
    }
    for (const auto& piece : plan.pieces) {
      if (piece.array != static_cast<std::int64_t>(a)) continue;
      const auto file = file_of_rank[static_cast<std::size_t>(piece.writer)];
      const auto& runs = m.files[static_cast<std::size_t>(file)].runs;
      const auto run = std::find_if(runs.begin(), runs.end(), [&](const detail::StoredRun& r) { return r.dtype == array.dtype; });
      m.boxes.push_back({file, run->offset + piece.offset, piece.box});
      ++stored.boxes;
      auto* at = files[static_cast<std::size_t>(file)].data() + run->offset + piece.offset;
      for (std::int64_t k = 0; k < piece.box.num_elements(); ++k, at += size) {
        std::int64_t index = 0, rest = k, below = piece.box.num_elements();
        for (std::int64_t axis = 0; axis < array.shape.ndim(); ++axis) {
          below /= piece.box[axis].size();
          index = index * array.shape[axis] + piece.box[axis].start + rest / below;
          rest %= below;
        }
        array.rule(index, at);
      }
    }
    m.arrays.push_back(stored);
  }
  for (std::size_t f = 0; f < files.size(); ++f) {
    for (auto& run : m.files[f].runs) {
      run.first_block = std::ssize(m.checksums);
      for (std::int64_t at = 0; at < run.bytes; at += detail::block_bytes)
        m.checksums.push_back(detail::crc32c(std::span(files[f]).subspan(static_cast<std::size_t>(run.offset + at),
                                                                          static_cast<std::size_t>(std::min(detail::block_bytes, run.bytes - at)))));
    }
    write_file(folder + "/" + m.files[f].name, files[f]);
  }
  const auto index = detail::make_index_image(m);
  write_file(folder + "/index.h5", index.bytes);
  commit.files[0] = {"index.h5", std::ssize(index.bytes), detail::crc32c(index.bytes), {}};
  commit.text = index.text, commit.places = index.places, commit.ranges = index.ranges, commit.checksums = index.checksums;
  std::ofstream(folder + "/COMMIT", std::ios::binary) << detail::encode(commit);
  return folder;
}

/// Turns one bit of a file.
inline void flip(const std::string& path, std::int64_t byte, int bit = 0) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(byte);
  const auto value = static_cast<char>(file.get());
  file.seekp(byte);
  file.put(static_cast<char>(value ^ (1 << bit)));
}

}  // namespace stored_step

#include "io/checkpoint/commit.hpp"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "io/checkpoint/crc32c.hpp"
#include "io/checkpoint/steps.hpp"
#include "io/disk.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

using json = nlohmann::ordered_json;

constexpr std::int64_t largest_commit = std::int64_t{1} << 30, largest_index = std::int64_t{1} << 40;
constexpr std::string_view seal = "crc32c=";

json to_json(const Extent& extent) { return {extent.offset, extent.bytes}; }

Extent extent_of(const json& j) {
  const Extent extent{j.at(0), j.at(1)};
  if (extent.offset < 0 || extent.bytes < 0 || extent.offset > largest_file || extent.bytes > largest_file)
    throw CheckpointError("COMMIT names a place that no file has");
  return extent;
}

std::string hex(std::uint32_t crc) { return fmt::format("{:08x}", crc); }

std::uint32_t crc_of(const std::string& text) {
  std::uint32_t crc = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), crc, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.size() != 8 || hex(crc) != text)
    throw CheckpointError(fmt::format("COMMIT has '{}' for a checksum", text));
  return crc;
}

Commit::File file_of(const json& j) {
  Commit::File file{j.at("file"), j.at("bytes"), crc_of(j.at("crc32c").get<std::string>()), {}};
  if (file.name.empty() || file.name.front() == '/' || file.name.find("..") != std::string::npos)
    throw CheckpointError(fmt::format("COMMIT names the file '{}'", file.name));
  for (const auto& run : j.at("runs")) file.runs.push_back(extent_of(run));
  return file;
}

template <class T>
void take(std::span<const std::byte> index, const Extent& extent, std::vector<T>& values) {
  values.resize(static_cast<std::size_t>(extent.bytes) / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), index.data() + extent.offset, values.size() * sizeof(T));
}

}  // namespace

std::string encode(const Commit& commit) {
  std::string text = json{{"format", "meshwise checkpoint"},
                          {"format_version", format_version},
                          {"step", commit.step},
                          {"uuid", commit.uuid},
                          {"manifest", to_json(commit.text)},
                          {"boxes", to_json(commit.places)},
                          {"ranges", to_json(commit.ranges)},
                          {"checksums", to_json(commit.checksums)}}
                         .dump() +
                     "\n";
  for (const auto& file : commit.files) {
    auto runs = json::array();
    for (const auto& run : file.runs) runs.push_back(to_json(run));
    text += json{{"file", file.name}, {"bytes", file.bytes}, {"crc32c", hex(file.checksum)}, {"runs", std::move(runs)}}.dump() + "\n";
  }
  return text + std::string(seal) + hex(crc32c(bytes_of(text))) + "\n";
}

Commit decode_commit(const std::string& text) {
  const auto end = text.rfind(seal);
  if (end == std::string::npos || text.size() != end + seal.size() + 9 || text.back() != '\n') throw CheckpointError("COMMIT is not whole");
  if (const auto crc = crc32c(bytes_of(std::string_view(text).substr(0, end))); crc_of(text.substr(end + seal.size(), 8)) != crc)
    throw CheckpointError(
        fmt::format("COMMIT is damaged: its checksum is {}, and it says {}", hex(crc), text.substr(end + seal.size(), 8)));
  try {
    Commit commit;
    bool first = true;
    for (std::size_t at = 0; at < end;) {
      const auto line = std::min(text.find('\n', at), end);
      const auto j = json::parse(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(line));
      at = line + 1;
      if (!std::exchange(first, false)) {
        commit.files.push_back(file_of(j));
        continue;
      }
      if (j.at("format") != "meshwise checkpoint") throw CheckpointError("COMMIT is not one of meshwise's");
      if (const std::int64_t version = j.at("format_version"); version != format_version)
        throw CheckpointError(fmt::format("it is of format version {}, and this program reads version {}", version, format_version));
      commit.step = j.at("step");
      commit.uuid = j.at("uuid");
      commit.text = extent_of(j.at("manifest"));
      commit.places = extent_of(j.at("boxes"));
      commit.ranges = extent_of(j.at("ranges"));
      commit.checksums = extent_of(j.at("checksums"));
    }
    if (commit.files.empty()) throw CheckpointError("COMMIT names no index");
    for (const auto& extent : {commit.text, commit.places, commit.ranges, commit.checksums})
      if (extent.bytes > commit.files[0].bytes || extent.offset > commit.files[0].bytes - extent.bytes)
        throw CheckpointError("COMMIT names a place beyond the end of the index");
    return commit;
  } catch (const json::exception& e) {
    throw CheckpointError(fmt::format("COMMIT cannot be read: {}", e.what()));
  }
}

std::string read_commit_text(const std::string& folder) {
  const auto path = folder + "/COMMIT";
  std::error_code error;
  if (std::filesystem::status(path, error).type() == std::filesystem::file_type::not_found)
    throw CheckpointError(fmt::format("'{}' has no COMMIT: it is no step, or one that was never finished", folder));
  return read_text(path, largest_commit);
}

Commit read_commit(const std::string& folder) {
  const auto text = read_commit_text(folder);
  const auto commit = [&] {
    try {
      return decode_commit(text);
    } catch (const CheckpointError& e) {
      throw CheckpointError(fmt::format("'{}': {}", folder, e.what()));
    }
  }();
  for (const auto& file : commit.files) {
    const auto size = DiskFile::open(folder + "/" + file.name).size();
    if (size != file.bytes) throw CheckpointError(fmt::format("'{}/{}' is {} bytes long, and was {}", folder, file.name, size, file.bytes));
  }
  return commit;
}

std::vector<std::byte> read_index(const std::string& folder, const Commit& commit) {
  const auto& index = commit.files[0];
  if (index.bytes > largest_index) throw CheckpointError(fmt::format("the index is said to be {} bytes long", index.bytes));
  std::vector<std::byte> bytes(static_cast<std::size_t>(index.bytes));
  DiskFile::open(folder + "/" + index.name).read(bytes, 0);
  return bytes;
}

ManifestParts parts_of(std::span<const std::byte> index, const Commit& commit) {
  ManifestParts parts;
  parts.text.assign(reinterpret_cast<const char*>(index.data()) + commit.text.offset, static_cast<std::size_t>(commit.text.bytes));
  take(index, commit.places, parts.places);
  take(index, commit.ranges, parts.ranges);
  take(index, commit.checksums, parts.checksums);
  return parts;
}

ManifestParts read_manifest_parts(const std::string& folder, const Commit& commit) {
  if (const auto named = step_of(std::filesystem::path(folder).filename().string()); named && *named != commit.step)
    throw CheckpointError(fmt::format("'{}' holds step {}", folder, commit.step));
  const auto& index = commit.files[0];
  const auto bytes = read_index(folder, commit);
  if (const auto crc = crc32c(bytes); crc != index.checksum)
    throw CheckpointError(
        fmt::format("'{}/{}' is damaged: its checksum is {}, and was {}", folder, index.name, hex(crc), hex(index.checksum)));
  return parts_of(bytes, commit);
}

Manifest read_manifest(const std::string& folder) { return decode(read_manifest_parts(folder, read_commit(folder))); }

}  // namespace meshwise::detail

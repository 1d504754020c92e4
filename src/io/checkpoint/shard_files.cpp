#include "io/checkpoint/shard_files.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "io/checkpoint/crc32c.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

constexpr std::size_t chunk_bytes = 512 << 10, most_open = 32;

}  // namespace

std::uint32_t read_checksummed(const DiskFile& file, std::span<std::byte> bytes, std::int64_t at, std::uint32_t crc,
                               const std::function<void(std::int64_t)>& between) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), chunk_bytes));
    file.read(part, at);
    crc = crc32c(part, crc);
    at += std::ssize(part);
    bytes = bytes.subspan(part.size());
    if (between) between(std::ssize(part));
  }
  return crc;
}

std::string checksums_differ(std::uint32_t is, std::uint32_t was) { return fmt::format("the checksum is {:08x}, and was {:08x}", is, was); }

std::vector<std::string> arrays_between(const Manifest& manifest, std::int64_t file, std::int64_t from, std::int64_t to) {
  std::vector<std::string> names;
  for (const auto& array : manifest.arrays) {
    const auto boxes = manifest.boxes_of(array);
    if (std::any_of(boxes.begin(), boxes.end(), [&](const StoredBox& box) {
          const auto bytes = box.box.num_elements() * static_cast<std::int64_t>(itemsize(array.dtype));
          return box.file == file && box.offset < to && box.offset + bytes > from;
        }))
      names.push_back(array.name);
  }
  return names;
}

const DiskFile& ShardFiles::operator[](std::int64_t number) {
  if (const auto found = open_.find(number); found != open_.end()) return found->second;
  if (open_.size() >= most_open) open_.erase(open_.begin());
  return open_.emplace(number, DiskFile::open(folder_ + "/" + manifest_.files[static_cast<std::size_t>(number)].name)).first->second;
}

void ShardFiles::check(std::int64_t block, std::uint32_t checksum) const {
  const auto was = manifest_.checksums[static_cast<std::size_t>(block)];
  if (checksum == was) return;
  for (std::size_t number = 0; number < manifest_.files.size(); ++number) {
    for (const auto& run : manifest_.files[number].runs) {
      if (block < run.first_block || block >= run.first_block + run.blocks()) continue;
      const auto from = run.offset + (block - run.first_block) * block_bytes, to = std::min(from + block_bytes, run.offset + run.bytes);
      throw CheckpointError(
          fmt::format("'{}/{}' is damaged in bytes {} to {}, which hold values of {}: {}", folder_, manifest_.files[number].name, from, to,
                      some_of(arrays_between(manifest_, static_cast<std::int64_t>(number), from, to)), checksums_differ(checksum, was)));
    }
  }
}

}  // namespace meshwise::detail

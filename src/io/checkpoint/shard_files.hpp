#pragma once
// Reading a step's shard files: which are open, and what to say of bytes that are not what they were. Local.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/manifest.hpp"
#include "io/disk.hpp"

namespace meshwise::detail {

/// Local. Fills `bytes` from there, in pieces that are checksummed while they are in the second-level cache; `between` hears of each piece's bytes. Hands
/// back the checksum of what `crc` is the checksum of, followed by them. Throws: CheckpointError.
std::uint32_t read_checksummed(const DiskFile& file, std::span<std::byte> bytes, std::int64_t at, std::uint32_t crc = 0,
                               const std::function<void(std::int64_t)>& between = {});

/// Local. `the checksum is 00000000, and was ffffffff`.
std::string checksums_differ(std::uint32_t is, std::uint32_t was);

/// Local. The arrays that have elements in bytes [from, to) of a shard file, in order.
std::vector<std::string> arrays_between(const Manifest& manifest, std::int64_t file, std::int64_t from, std::int64_t to);

class ShardFiles {
 public:
  ShardFiles(const std::string& folder, const Manifest& manifest) : folder_(folder), manifest_(manifest) {}
  /// Local. The file of that number, until the next call. Throws: CheckpointError.
  const DiskFile& operator[](std::int64_t number);
  void close() { open_.clear(); }
  /// Local. Throws, unless it is the block's: CheckpointError naming the file, its bytes, and the arrays that have values there.
  void check(std::int64_t block, std::uint32_t checksum) const;

 private:
  std::string folder_;
  const Manifest& manifest_;
  std::map<std::int64_t, DiskFile> open_{};
};

}  // namespace meshwise::detail

#pragma once
// The HDF5 files of a checkpoint as bytes, made by HDF5 in memory: it never sees the disk, whose failures it does not survive. Local; main thread only.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/manifest.hpp"

namespace meshwise::detail {

/// Local. A shard file but for the values, which go to `runs`.
struct ShardImage {
  std::int64_t bytes = 0;
  std::vector<StoredRun> runs{};                                        // as they lie in the file
  std::vector<std::pair<std::int64_t, std::vector<std::byte>>> rest{};  // offset and bytes of everything else
  std::uint32_t checksum() const;                                       // of the rest, in order
};
/// Local. `run_bytes` by dtype; a dataset /<dtype> for each that has bytes. Throws: CheckpointError.
ShardImage make_shard_image(const std::vector<std::int64_t>& run_bytes, std::int64_t writer, std::int64_t step, const std::string& uuid);

/// Local. Where the parts of the manifest lie in the index: offset and bytes.
struct Extent {
  std::int64_t offset = 0, bytes = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};
struct IndexImage {
  std::vector<std::byte> bytes{};
  Extent text{}, places{}, ranges{}, checksums{};
};
/// Local. /arrays/<name>: virtual datasets over the shard files, of global shape; /checkpoint: the manifest. Throws: CheckpointError.
IndexImage make_index_image(const Manifest& manifest);

/// Local. `1.10.8`: of the library that made the files.
std::string hdf5_version();

}  // namespace meshwise::detail

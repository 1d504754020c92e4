#pragma once
// The record that makes a step: what must be in its folder, checked before anything else is believed. Local.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/images.hpp"
#include "io/checkpoint/manifest.hpp"

namespace meshwise::detail {

/// Local. The file COMMIT: a JSON object a line, then a line `crc32c=xxxxxxxx` over all before it.
struct Commit {
  struct File {
    std::string name{};
    std::int64_t bytes = 0;
    std::uint32_t checksum = 0;  // of the file without its runs: of the whole index
    std::vector<Extent> runs{};
  };
  std::int64_t step = 0;
  std::string uuid{};
  std::vector<File> files{};                       // the index, then the shard files in the manifest's order
  Extent text{}, places{}, ranges{}, checksums{};  // the manifest's parts in the index
};

std::string encode(const Commit& commit);
/// Local. Throws: CheckpointError when the text isn't whole, or is of another version.
Commit decode_commit(const std::string& text);

/// Local. The text of a step's COMMIT. Throws: CheckpointError.
std::string read_commit_text(const std::string& folder);
/// Local. Reads a step's COMMIT and looks whether its files are there, each with its size. Throws: CheckpointError naming the file.
Commit read_commit(const std::string& folder);

/// Local. The index's bytes, whatever they are, and the parts of the manifest that lie in them. Throws: CheckpointError.
std::vector<std::byte> read_index(const std::string& folder, const Commit& commit);
ManifestParts parts_of(std::span<const std::byte> index, const Commit& commit);
/// Local. Reads the index, compares its checksum, and hands back the manifest's parts; libhdf5 is not asked. Throws: CheckpointError.
ManifestParts read_manifest_parts(const std::string& folder, const Commit& commit);
Manifest read_manifest(const std::string& folder);

}  // namespace meshwise::detail

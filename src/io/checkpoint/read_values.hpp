#pragma once
// One process reads what a step holds, without MPI and in bounded memory; every block is checked before a value of it is handed out. Local.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/commit.hpp"
#include "io/checkpoint/manifest.hpp"
#include "io/checkpoint/shard_files.hpp"
#include "io/checkpoint/staging.hpp"
#include "meshwise/array/local_array.hpp"

namespace meshwise::detail {

class StepReader {
 public:
  /// Local. Throws (as all here do): CheckpointError naming the file, the block and the arrays in it.
  explicit StepReader(std::string folder);
  StepReader(const StepReader&) = delete;
  StepReader& operator=(const StepReader&) = delete;

  const std::string& folder() const { return folder_; }
  const Commit& commit() const { return commit_; }
  const Manifest& manifest() const { return manifest_; }

  /// Local. The values of a box, into an array of its shape, or in private memory.
  void read(const StoredArray& array, const Index& box, const LocalArray& to);
  LocalArray read(const StoredArray& array, const Index& box);
  /// Local. The whole array, box by box in row-major order, each dense and of at most `most` bytes.
  void in_rows(const StoredArray& array, std::int64_t most, const std::function<void(const Index& box, const LocalArray& values)>& take);
  /// Local. The whole array as it lies in the files, the fastest order: elements [first, first + count) of a stored box.
  void as_stored(const StoredArray& array,
                 const std::function<void(const Index& box, std::int64_t first, std::int64_t count, const std::byte* values)>& take);

 private:
  const StoredRun& run_of(const StoredArray& array, const StoredBox& box) const;
  void fetch(std::int64_t file, const StoredRun& run, std::int64_t from, std::span<std::byte> to);

  std::string folder_;
  Commit commit_;
  Manifest manifest_;
  ShardFiles files_{folder_, manifest_};
  std::vector<bool> checked_;  // blocks whose checksum was compared
  StagingBlock block_{static_cast<std::size_t>(block_bytes)}, part_{static_cast<std::size_t>(block_bytes)};
};

/// Local. The first `most` bytes' worth of elements, at least one, that make a box of the shape together, from element `first` on.
std::int64_t next_box_elements(const Shape& shape, std::int64_t itemsize, std::int64_t first, std::int64_t most);

}  // namespace meshwise::detail

#pragma once
// What a checkpoint holds and where each byte of it lies: made by who saves, read by who loads, by the command, and by other people's programs
// (docs/format.md).

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwise/array/tree.hpp"
#include "meshwise/base/dtype.hpp"
#include "meshwise/base/function_ref.hpp"
#include "meshwise/base/shape.hpp"
#include "meshwise/placement/sharding.hpp"
#include "plan/restore.hpp"

namespace meshwise::detail {

inline constexpr std::int64_t format_version = 1;
inline constexpr std::int64_t block_bytes = std::int64_t{4} << 20;
/// Local. No place and no length in a file is larger, whoever says so: sums of two are numbers.
inline constexpr std::int64_t largest_file = std::int64_t{1} << 62;

/// Local. The values of one dtype in a shard file, boxes one after the other: a dataset of the dtype's name. Cut into blocks of block_bytes (the last is
/// shorter), whose checksums are `Manifest::checksums[first_block...]`.
struct StoredRun {
  Dtype dtype = float32;
  std::int64_t offset = 0, bytes = 0;
  std::int64_t first_block = 0;
  std::int64_t blocks() const { return (bytes + block_bytes - 1) / block_bytes; }
};

struct ShardFile {
  std::string name{};  // relative to the step's folder: shards/00000.h5
  std::vector<StoredRun> runs{};
};

/// Local. Where the saving job had an array: information, never needed to load it.
struct StoredSharding {
  std::vector<std::int64_t> axis_sizes{};
  std::vector<std::string> axis_names{};
  std::vector<std::string> axis_types{};
  std::vector<std::int64_t> devices{};
  std::vector<std::vector<std::string>> spec{};  // the mesh axes of each array axis
  friend bool operator==(const StoredSharding&, const StoredSharding&) = default;
};

using StoredBox = StoredPlace;

struct StoredArray {
  std::string name{};  // layers/0/w
  Dtype dtype = float32;
  Shape shape{};
  std::int64_t sharding = -1;  // in `shardings`; -1: every rank had all values
  std::int64_t first_box = 0, boxes = 0;
  bool is_virtual = true;  // there is a dataset /arrays/<name> in the index
  std::int64_t nbytes() const { return shape.num_elements() * static_cast<std::int64_t>(itemsize(dtype)); }
};

struct Manifest {
  std::int64_t step = 0;
  std::string uuid{}, created{}, library{}, hdf5{};
  std::int64_t world_size = 0;
  std::string tree{};      // the containers as JSON, leaves are numbers of arrays
  std::string metadata{};  // the user's JSON; empty: none
  std::map<std::string, double> metrics{};
  std::vector<StoredSharding> shardings{};
  std::vector<StoredArray> arrays{};
  std::vector<StoredBox> boxes{};
  std::vector<ShardFile> files{};
  std::vector<std::uint32_t> checksums{};

  std::span<const StoredBox> boxes_of(const StoredArray& array) const {
    return std::span(boxes).subspan(static_cast<std::size_t>(array.first_box), static_cast<std::size_t>(array.boxes));
  }
  /// Local. The array of that name, if there is one.
  const StoredArray* find(const std::string& name) const;
  /// Local. The same. Throws: CheckpointError with names that are there.
  const StoredArray& array(const std::string& name) const;
};

/// Local. `w, b and 3 more`.
std::string some_of(const std::vector<std::string>& names);

/// Local. The parts of a manifest as they lie in the index: JSON text, [boxes,2] int64 (file, offset), [.,2] int64 (start and stop of each axis of each box), uint32.
struct ManifestParts {
  std::string text{};
  std::vector<std::int64_t> places{};
  std::vector<std::int64_t> ranges{};
  std::vector<std::uint32_t> checksums{};
};
ManifestParts encode(const Manifest& manifest);
/// Local. Throws: CheckpointError for what cannot be: boxes outside their arrays or files, elements stored twice or not at all.
Manifest decode(const ManifestParts& parts);

/// Local. Visits a tree's containers and leaves in flattening order, each with its name: keys and positions joined by '/'. In a key, `/`, `%`, control characters and what is no UTF-8 are
/// written `%2F`; so are a key that is empty (`%`), `.` or `..`. A tree that is one leaf has the name `array`.
using NodeVisitor = FunctionRef<void(const Tree& node, const std::string& name)>;
void for_each_node(const Tree& tree, NodeVisitor visit);
std::string tree_text(const Tree& tree);
/// Local. The tree that tree_text wrote, with these leaves. Throws: CheckpointError.
Tree tree_of_text(const std::string& text, const std::vector<Array>& leaves);

StoredSharding describe(const Sharding& sharding);
/// Local. `P('x', None) on ('x': 4)`.
std::string to_string(const StoredSharding& sharding);
/// Local. `float32[8@x,16]`: an array's type with the layout it was stored in.
std::string type_text(const Manifest& manifest, const StoredArray& array);

}  // namespace meshwise::detail

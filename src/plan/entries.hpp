#pragma once
// Specs as small numbers: what the layout rules compare, merge and count. Names are read once and written once.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwise/base/shape.hpp"
#include "meshwise/placement/mesh.hpp"
#include "meshwise/placement/partition_spec.hpp"

namespace meshwise::detail {

/// Local. The mesh axes that one array axis is split over, major first, by their position in the mesh. A string type because
/// it holds seven in place and knows its prefixes.
using Entry = std::u16string;
/// Local. One entry per array axis.
using Entries = std::vector<Entry>;

/// Local. Mesh axes of size 1 place nothing, so Auto leaves them out; an Explicit type keeps every name.
enum class Units : bool { dropped, kept };

/// Local. A spec with exactly `ndim` entries. Throws: UnknownAxisError for a name the mesh does not have.
Entries read_spec(const Mesh& mesh, const PartitionSpec& spec, std::int64_t ndim, Units units = Units::dropped);
/// Local. The shortest spec: trailing none left out.
PartitionSpec write_short(const Mesh& mesh, const Entries& entries);
/// Local. One entry per axis.
PartitionSpec write_full(const Mesh& mesh, const Entries& entries);

/// Local. Parts that an entry makes.
std::int64_t parts_of(const Mesh& mesh, const Entry& entry);
/// Local. Parts that all entries make together.
std::int64_t tiles_of(const Mesh& mesh, const Entries& entries);
bool all_empty(const Entries& entries);
/// Local. Some mesh axis occurs more than once.
bool repeats_an_axis(const Entries& entries);

/// Local. Per axis equal or one side whole, no mesh axis twice; else nothing.
std::optional<Entries> merge(const Entries& a, const Entries& b);
/// Local. `b` where every entry of `a` is a prefix of b's; else merge(a, b).
std::optional<Entries> refine(const Entries& a, const Entries& b);
/// Local. Position of the first with the most tiles.
std::size_t most_tiles(const Mesh& mesh, std::span<const Entries> list);

/// Local. The entries of an operand of shape `own`, right-aligned to `result`: new axes and axes grown from length 1 are whole.
Entries align(const Entries& entries, const Shape& own, const Shape& result);

/// Local. "ij,jk->ik" taken apart. Throws: ShapeError where it does not have one term per operand and a result.
struct Subscripts {
  std::vector<std::string> terms;
  std::string result;
  static Subscripts parse(const std::string& text, std::size_t operands);
};

}  // namespace meshwise::detail

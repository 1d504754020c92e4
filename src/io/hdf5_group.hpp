#pragma once
// What is in a group, as a tree of arrays that are still in the file. Local, no MPI.

#include <string>
#include <string_view>
#include <vector>

#include "io/hdf5_file.hpp"
#include "meshwise/array/tree.hpp"
#include "meshwise/io/hdf5_tree.hpp"

namespace meshwise::detail {

/// Local. What the attribute meshwise_kind says of a group that is a node of that kind.
std::string kind_text(Tree::Kind kind);

/// Local. What a call reads, as one text for all ranks. Throws: CheckpointError when something of `options.only` isn't there, a group is in itself, or
/// something cannot be an array and is not to be left out.
std::string pack_group(hid_t file, const std::string& group, const io::ReadTreeOptions& options);

struct StoredTree {
  Tree tree{};                       // its leaves have shape and dtype and no values
  std::vector<std::string> names{};  // of the leaves in flattening order, from the root of the file
  std::vector<Found> found{};
};
StoredTree unpack_group(std::string_view text);

}  // namespace meshwise::detail

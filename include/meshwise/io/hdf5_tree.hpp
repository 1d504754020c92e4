#pragma once
// A group of an HDF5 file as a tree of arrays, and a tree as a group.

#include <string>
#include <vector>

#include "meshwise/array/tree.hpp"
#include "meshwise/io/hdf5.hpp"

namespace meshwise::io {

struct ReadTreeOptions {
  std::vector<std::string> only{};  // these datasets and groups below the group, `layers/0/w`, instead of all
  bool skip_unreadable = false;     // leave out what has no dtype (strings, compounds) or leads nowhere, instead of refusing
};

/// Synchronising. Groups as dicts, datasets as leaves, each placed where `targets`, a prefix of the tree, says (nowhere in particular by
/// default: each rank reads the whole); what write_tree wrote comes back as it was. The file is opened once on each rank.
///
///     auto data = io::read_tree("digits.h5", "/", NamedSharding(mesh, P("data")), {.only = {"images", "labels"}});   // data["images"]
///
/// Throws, the same on every rank: CheckpointError as `read` does, and for datasets that cannot be arrays, naming all; PlacementError when
/// `targets` does not fit, saying which key is missing where; OutOfMemoryError; MismatchError.
Tree read_tree(const std::string& file, const std::string& group = "/", const ShardingTree& targets = {},
               const ReadTreeOptions& options = {});

/// Synchronising. The tree as a group: dicts are groups, leaves datasets; lists and tuples are groups with the keys 0, 1, ... and an attribute
/// `meshwise_kind`. All or nothing, as `write` is. Throws as `write` does, and CheckpointError for a key that is empty, `.` or has a slash.
void write_tree(const std::string& file, const std::string& group, const Tree& tree, WriteOptions options = {});

}  // namespace meshwise::io

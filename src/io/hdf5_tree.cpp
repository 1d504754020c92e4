#include "meshwise/io/hdf5_tree.hpp"

#include <optional>

#include <fmt/format.h>

#include "array/state.hpp"
#include "io/agreement.hpp"
#include "io/hdf5_group.hpp"
#include "io/placed.hpp"
#include "io/write_whole.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::io {

namespace {

using detail::agreed;

// Throws, from metadata alone. Dicts, lists and tuples of arrays in flattening order, as what is to be made; and the arrays.
void lay_out_tree(const std::string& call, const Tree& tree, const std::string& path, std::vector<detail::LaidOut>& items,
                  std::vector<Array>& arrays) {
  using Kind = Tree::Kind;
  if (tree.kind() == Kind::leaf) {
    detail::check_alive(tree.leaf(), call, path);
    items.push_back({path, {tree.leaf().dtype(), tree.leaf().shape()}, {}});
    arrays.push_back(tree.leaf());
    return;
  }
  auto& item = items.emplace_back();
  item.name = path;
  item.kind = detail::kind_text(tree.kind());
  for (const auto& [key, entry] : tree.entries()) {
    if (key.empty() || key == "." || key.find('/') != std::string::npos || key.find('\0') != std::string::npos)
      throw CheckpointError(
          fmt::format("{}: the key '{}' can name nothing in a group: it is empty, '.', or has a slash or a zero byte", call, key));
    lay_out_tree(call, entry, path + "/" + key, items, arrays);
  }
  for (std::size_t i = 0; i < tree.items().size(); ++i) lay_out_tree(call, tree.items()[i], fmt::format("{}/{}", path, i), items, arrays);
}

std::string leaves_text(const Tree& tree) {
  std::string text = to_string(tree);
  for (const auto& x : tree_leaves(tree))
    text += !x.is_set() ? ", no array" : x.is_deleted() ? ", a deleted array" : ", " + detail::words_of(x.sharding());
  return text;
}

}  // namespace

Tree read_tree(const std::string& file, const std::string& group, const ShardingTree& targets, const ReadTreeOptions& options) {
  const auto ticket = detail::enter_world_call({"io::read_tree", detail::hash_text("io::read_tree")});
  const auto call = fmt::format("io::read_tree('{}', '{}')", file, group);
  detail::same_call("io::read_tree",
                    fmt::format("{} of [{}]{} on {}", call, detail::shortened(fmt::format("{}", fmt::join(options.only, ", "))),
                                options.skip_unreadable ? " that can be read" : "", detail::shortened(detail::words_of(targets))),
                    ticket);
  const auto text = agreed(call, ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    const detail::QuietErrors quiet;
    return detail::pack_group(detail::open_file(file, false), detail::object_name(group), options);
  })[0];
  const auto stored = detail::unpack_group(text);
  const auto wanted = broadcast_prefix(targets, stored.tree, call.c_str());
  std::vector<detail::Placed> placed;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    placed.emplace_back(fmt::format("{}: '{}'", call, stored.names[i]), stored.found[i], wanted[i]);
  agreed(call, ticket, [&] {
    const detail::QuietErrors quiet;
    std::optional<detail::Handle> open;
    for (std::size_t i = 0; i < placed.size(); ++i) {
      if (!placed[i].is_needed_here()) continue;
      if (!open) open.emplace(detail::open_file(file, false));
      const auto source = detail::open_same(*open, stored.names[i], stored.found[i]);
      placed[i].read([&](const detail::Region& region) { return detail::read_region(source, region); });
    }
    return std::string();
  });
  std::vector<Array> arrays;
  for (auto& each : placed) arrays.push_back(each.array());
  return tree_unflatten(stored.tree, arrays);
}

void write_tree(const std::string& file, const std::string& group, const Tree& tree, WriteOptions options) {
  const auto ticket = detail::enter_world_call({"io::write_tree", detail::hash_text("io::write_tree")});
  const auto call = fmt::format("io::write_tree('{}', '{}'{})", file, group, options.append ? ", append" : "");
  detail::same_call("io::write_tree", fmt::format("{} of {}", call, detail::shortened(leaves_text(tree))), ticket);
  std::vector<detail::LaidOut> items;
  std::vector<Array> arrays;
  lay_out_tree(call, tree, "", items, arrays);
  detail::write_whole(call, ticket, arrays, [&] {
    const auto name = detail::object_name(group);
    return detail::begin_draft(file, tree.is_leaf() ? detail::normalized_name(name) : name, items, options.append);
  });
}

}  // namespace meshwise::io

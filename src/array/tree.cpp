#include "meshwise/array/tree.hpp"

#include <fmt/format.h>

#include "meshwise/base/error.hpp"
#include "meshwise/plan/propagation.hpp"

namespace meshwise {
namespace {

template <class Leaf>
const char* kind_name(const BasicTree<Leaf>& tree) {
  using Kind = typename BasicTree<Leaf>::Kind;
  switch (tree.kind()) {
    case Kind::leaf:
      return "a leaf";
    case Kind::dict:
      return "a dict";
    case Kind::list:
      return "a list";
    case Kind::tuple:
      return "a tuple";
    default:
      return "none";
  }
}

/// What stands at a path, in words: a leaf's type, or a node's kind and its keys or length.
template <class Leaf>
std::string found(const BasicTree<Leaf>& tree) {
  using Kind = typename BasicTree<Leaf>::Kind;
  if (tree.kind() == Kind::empty) return "none";
  if (tree.kind() == Kind::leaf) {
    if constexpr (std::same_as<Leaf, Array>)
      return "the leaf " + (tree.leaf().is_set() ? type_string(tree.leaf()) : std::string("(no array)"));
    else
      return "one target";
  }
  if (tree.kind() != Kind::dict) return fmt::format("{} of length {}", kind_name(tree), tree.size());
  std::string keys;
  for (const auto& [key, value] : tree.entries()) keys += fmt::format("{}'{}'", keys.empty() ? "" : ", ", key);
  return fmt::format("a dict with keys {{{}}}", keys);
}

std::string path_text(const std::string& path) { return path.empty() ? "the root" : path; }

/// Walks targets and data side by side; what does not fit is collected, so that one error tells all of it.
class PrefixWalk {
 public:
  void walk(const ShardingTree& targets, const Tree& data, const std::string& path) {
    using Kind = ShardingTree::Kind;
    if (targets.kind() == Kind::empty || targets.kind() == Kind::leaf) {
      const Target target = targets.is_leaf() ? targets.leaf() : Target{};
      out_.insert(out_.end(), tree_leaves(data).size(), target);
      return;
    }
    if (static_cast<int>(targets.kind()) != static_cast<int>(data.kind())) {
      mismatches_.push_back(fmt::format("at {} the data has {}, the targets have {}", path_text(path), found(data), found(targets)));
      return;
    }
    if (targets.kind() == Kind::dict) return walk_dict(targets, data, path);
    if (targets.size() != data.size()) {
      mismatches_.push_back(fmt::format("at {} the data has {}, the targets have {}", path_text(path), found(data), found(targets)));
      return;
    }
    for (std::size_t i = 0; i < data.size(); ++i) walk(targets.items()[i], data.items()[i], fmt::format("{}[{}]", path, i));
  }

  std::vector<Target> finish(const char* operation) {
    if (!mismatches_.empty())
      throw PlacementError(fmt::format(
          "{}: the tree of targets must be a prefix of the data's tree, but {}; give one target for a whole subtree, or one for each entry",
          operation, fmt::join(mismatches_, "; ")));
    return std::move(out_);
  }

 private:
  void walk_dict(const ShardingTree& targets, const Tree& data, const std::string& path) {
    for (const auto& [key, target] : targets.entries())
      if (!data.entries().contains(key))
        mismatches_.push_back(
            fmt::format("at {}['{}'] the targets have {}, the data has no such key ({})", path, key, found(target), found(data)));
    for (const auto& [key, value] : data.entries()) {
      const auto target = targets.entries().find(key);
      const auto here = fmt::format("{}['{}']", path, key);
      if (target != targets.entries().end())
        walk(target->second, value, here);
      else
        mismatches_.push_back(fmt::format("at {} the data has {}, the targets have no such key ({})", here, found(value), found(targets)));
    }
  }

  std::vector<Target> out_{};
  std::vector<std::string> mismatches_{};
};

void flatten(const Tree& tree, const std::string& path, std::vector<PathLeaf>& out) {
  if (tree.is_leaf()) out.push_back({path, tree.leaf()});
  for (const auto& [key, value] : tree.entries()) flatten(value, fmt::format("{}['{}']", path, key), out);
  for (std::size_t i = 0; i < tree.items().size(); ++i) flatten(tree.items()[i], fmt::format("{}[{}]", path, i), out);
}

void collect(const Tree& tree, std::vector<Array>& out) {
  if (tree.is_leaf()) out.push_back(tree.leaf());
  for (const auto& [key, value] : tree.entries()) collect(value, out);
  for (const auto& item : tree.items()) collect(item, out);
}

Tree rebuild(const Tree& structure, const std::vector<Array>& leaves, std::size_t& next) {
  switch (structure.kind()) {
    case Tree::Kind::leaf:
      return leaves[next++];
    case Tree::Kind::dict: {
      Tree::Entries entries;
      for (const auto& [key, value] : structure.entries()) entries.emplace(key, rebuild(value, leaves, next));
      return Tree(std::move(entries));
    }
    case Tree::Kind::empty:
      return {};
    default:
      break;
  }
  std::vector<Tree> items;
  for (const auto& item : structure.items()) items.push_back(rebuild(item, leaves, next));
  return structure.kind() == Tree::Kind::list ? Tree::list(std::move(items)) : Tree::tuple(std::move(items));
}

}  // namespace

std::vector<PathLeaf> tree_flatten_with_path(const Tree& tree) {
  std::vector<PathLeaf> out;
  flatten(tree, "", out);
  return out;
}

std::vector<Array> tree_leaves(const Tree& tree) {
  std::vector<Array> out;
  collect(tree, out);
  return out;
}

Tree tree_unflatten(const Tree& structure, const std::vector<Array>& leaves) {
  if (const auto wanted = tree_leaves(structure).size(); wanted != leaves.size())
    throw Error(fmt::format("tree_unflatten: the structure has {} leaves, {} arrays were given", wanted, leaves.size()));
  std::size_t next = 0;
  return rebuild(structure, leaves, next);
}

std::vector<Target> broadcast_prefix(const ShardingTree& targets, const Tree& tree, const char* operation) {
  PrefixWalk prefix;
  prefix.walk(targets, tree, "");
  return prefix.finish(operation);
}

std::string to_string(const Tree& tree) {
  std::string inside;
  const auto add = [&](const std::string& text) { inside += (inside.empty() ? "" : ", ") + text; };
  for (const auto& [key, value] : tree.entries()) add(fmt::format("'{}': {}", key, to_string(value)));
  for (const auto& item : tree.items()) add(to_string(item));
  switch (tree.kind()) {
    case Tree::Kind::leaf:
      return tree.leaf().is_set() ? type_string(tree.leaf()) : "(no array)";
    case Tree::Kind::dict:
      return "{" + inside + "}";
    case Tree::Kind::list:
      return "[" + inside + "]";
    case Tree::Kind::tuple:
      return "(" + inside + (tree.size() == 1 ? ",)" : ")");
    default:
      return "None";
  }
}

}  // namespace meshwise

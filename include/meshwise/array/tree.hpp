#pragma once
// Trees of arrays (JAX's pytrees): string-keyed maps, lists, tuples, nested; and trees of targets beside them.

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "meshwise/array/array.hpp"
#include "meshwise/placement/sharding.hpp"

namespace meshwise {

/// Local. A leaf, a dict (keys in sorted order), a list, a tuple, or none (no leaf). Kinds differ: a list is not a tuple.
///
/// Tree{{"w", ones({8, 16})}, {"b", zeros({16})}} is a dict of two leaves; flattened: b, w.
template <class Leaf>
class BasicTree {
 public:
  enum class Kind : std::uint8_t { empty, leaf, dict, list, tuple };
  using Entries = std::map<std::string, BasicTree>;

  BasicTree() = default;
  BasicTree(Leaf leaf) : kind_(Kind::leaf), leaf_(std::move(leaf)) {}
  template <class Other>
    requires(std::convertible_to<Other, Leaf> && !std::same_as<std::remove_cvref_t<Other>, BasicTree> &&
             !std::same_as<std::remove_cvref_t<Other>, Leaf>)
  BasicTree(Other&& other) : BasicTree(Leaf(std::forward<Other>(other))) {}
  BasicTree(std::initializer_list<std::pair<const std::string, BasicTree>> entries) : kind_(Kind::dict), entries_(entries) {}
  explicit BasicTree(Entries entries) : kind_(Kind::dict), entries_(std::move(entries)) {}
  explicit BasicTree(std::vector<BasicTree> items) : kind_(Kind::list), items_(std::move(items)) {}
  static BasicTree list(std::vector<BasicTree> items) { return BasicTree(std::move(items)); }
  static BasicTree tuple(std::vector<BasicTree> items) {
    BasicTree t(std::move(items));
    t.kind_ = Kind::tuple;
    return t;
  }

  Kind kind() const { return kind_; }
  bool is_leaf() const { return kind_ == Kind::leaf; }
  const Leaf& leaf() const { return leaf_; }
  const Entries& entries() const { return entries_; }
  const std::vector<BasicTree>& items() const { return items_; }
  std::size_t size() const { return kind_ == Kind::dict ? entries_.size() : items_.size(); }

  /// Local. A subtree that can be used as its leaf: tree["w"].sharding(), tree["layers"][0]["w"].
  class Item;
  Item operator[](const std::string& key) const;
  Item operator[](const char* key) const;
  /// Local. Adds or replaces an entry of a dict (an empty tree becomes one).
  void set(const std::string& key, BasicTree value);

 private:
  Kind kind_ = Kind::empty;
  Leaf leaf_{};
  Entries entries_{};
  std::vector<BasicTree> items_{};
};

/// Local. Where a leaf should go: nowhere in particular, a device, or a sharding.
using Target = std::variant<std::monostate, Device, Sharding>;

using Tree = BasicTree<Array>;
using ShardingTree = BasicTree<Target>;

/// Local. A leaf and the path to it: `['layers'][0]['w']`.
struct PathLeaf {
  std::string path;
  Array leaf;
};
/// Local. Leaves in flattening order: dict keys sorted, lists and tuples in order.
std::vector<PathLeaf> tree_flatten_with_path(const Tree& tree);
std::vector<Array> tree_leaves(const Tree& tree);
/// Local. The same structure with these leaves. Throws: Error when their number differs.
Tree tree_unflatten(const Tree& structure, const std::vector<Array>& leaves);
/// Local. The same structure, f applied to each leaf in flattening order.
template <class F>
Tree tree_map(F&& f, const Tree& tree) {
  auto leaves = tree_leaves(tree);
  for (auto& leaf : leaves) leaf = f(leaf);
  return tree_unflatten(tree, leaves);
}
/// Local. One target per leaf, `targets` being a prefix of the tree's structure. Throws: PlacementError naming the key path and what was found on both sides.
std::vector<Target> broadcast_prefix(const ShardingTree& targets, const Tree& tree, const char* operation);
/// Local. `{'b': float32[16], 'w': float32[8@data,16]}`.
std::string to_string(const Tree& tree);

}  // namespace meshwise

#include "meshwise/array/tree_inl.hpp"

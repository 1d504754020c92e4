#pragma once
// Trees of arrays (JAX's pytrees): string-keyed maps, lists, tuples, nested; and trees of targets beside them.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "meshwise/array/array.hpp"
#include "meshwise/array/create.hpp"
#include "meshwise/placement/sharding.hpp"

namespace meshwise {

template <class Leaf>
class BasicTree;

namespace detail {
/// Local. What becomes a leaf: what converts to one; for arrays also host values.
template <class T, class Leaf>
concept LeafLike = std::convertible_to<const T&, Leaf> || (std::same_as<Leaf, Array> && HostValues<T>);

template <class T>
concept StringMap = std::same_as<typename T::key_type, std::string> && requires(const T& map, const std::string& key) {
  { map.at(key) } -> std::same_as<const typename T::mapped_type&>;
};

/// Local. What becomes a tree: trees, leaves, and vectors, tuples and string-keyed maps of what does.
template <class T, class Leaf>
inline constexpr bool is_tree_like = LeafLike<T, Leaf>;
template <class Leaf>
inline constexpr bool is_tree_like<BasicTree<Leaf>, Leaf> = true;
template <class T, class Leaf>
inline constexpr bool is_tree_like<std::vector<T>, Leaf> = LeafLike<std::vector<T>, Leaf> || is_tree_like<T, Leaf>;
template <class... T, class Leaf>
inline constexpr bool is_tree_like<std::tuple<T...>, Leaf> = (is_tree_like<std::remove_cvref_t<T>, Leaf> && ...);
template <StringMap T, class Leaf>
inline constexpr bool is_tree_like<T, Leaf> = is_tree_like<typename T::mapped_type, Leaf>;
}  // namespace detail

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
  BasicTree(std::initializer_list<std::pair<const std::string, BasicTree>> entries) : kind_(Kind::dict), entries_(entries) {}
  BasicTree(Entries entries) : kind_(Kind::dict), entries_(std::move(entries)) {}
  BasicTree(std::vector<BasicTree> items) : kind_(Kind::list), items_(std::move(items)) {}
  /// Collective where there are host values, which become arrays by asarray; else Local. A leaf; a list of a vector, a tuple of a tuple, a dict of a
  /// string-keyed map, of what converts to a tree, nested. A std::vector of numbers is values: one leaf.
  template <class T>
    requires(!std::same_as<T, BasicTree> && !std::same_as<T, Leaf> && detail::LeafLike<T, Leaf>)
  BasicTree(const T& leaf) : kind_(Kind::leaf) {
    if constexpr (std::same_as<T, Item>) *this = leaf.tree();
    else if constexpr (std::convertible_to<const T&, Leaf>) leaf_ = leaf;
    else leaf_ = asarray(leaf);
  }
  template <class T>
    requires(!detail::LeafLike<std::vector<T>, Leaf> && detail::is_tree_like<T, Leaf>)
  BasicTree(const std::vector<T>& items) : kind_(Kind::list), items_(items.begin(), items.end()) {}
  template <class... T>
    requires detail::is_tree_like<std::tuple<T...>, Leaf>
  BasicTree(const std::tuple<T...>& items)
      : kind_(Kind::tuple), items_(std::apply([](const auto&... item) { return std::vector<BasicTree>{BasicTree(item)...}; }, items)) {}
  template <detail::StringMap T>
    requires detail::is_tree_like<T, Leaf>
  BasicTree(const T& entries) : kind_(Kind::dict) {
    std::map<std::string, const typename T::mapped_type*> sorted;  // a hash map's order may differ between ranks, and asarray is collective
    for (const auto& [key, value] : entries) sorted.emplace(key, &value);
    for (const auto& [key, value] : sorted) entries_.emplace(key, *value);
  }
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
  /// Local. An item of a list or tuple. Throws: IndexError beyond it. A template, so that [0] is no null `const char*`.
  template <std::integral I>
  Item operator[](I position) const {
    return Item(*this)[position];
  }
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

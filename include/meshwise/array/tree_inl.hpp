#pragma once
// The part of tree.hpp that needs Item complete.

#include <concepts>
#include <string>
#include <utility>

#include "meshwise/array/tree.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise {

/// Local. A node reached by [] : the leaf itself where it is one, with its subtree beside it.
template <class Leaf>
class BasicTree<Leaf>::Item : public Leaf {
 public:
  explicit Item(const BasicTree& node) : Leaf(node.is_leaf() ? node.leaf() : Leaf{}), node_(node) {}
  const BasicTree& tree() const { return node_; }
  Item operator[](const std::string& key) const { return node_[key]; }
  Item operator[](const char* key) const { return node_[key]; }
  /// Local. Throws: IndexError beyond the list. A template, so that [0] is no null `const char*`.
  template <std::integral I>
  Item operator[](I position) const {
    const auto& items = node_.items();
    if (!std::in_range<std::size_t>(position) || static_cast<std::size_t>(position) >= items.size())
      throw IndexError("tree: no item " + std::to_string(position) + "; there are " + std::to_string(items.size()));
    return Item(items[static_cast<std::size_t>(position)]);
  }

 private:
  BasicTree node_;
};

template <class Leaf>
typename BasicTree<Leaf>::Item BasicTree<Leaf>::operator[](const std::string& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    std::string keys;
    for (const auto& [name, value] : entries_) keys += (keys.empty() ? "'" : ", '") + name + "'";
    throw IndexError("tree: no entry '" + key + "'; there are " + (keys.empty() ? "none" : keys));
  }
  return Item(found->second);
}

template <class Leaf>
typename BasicTree<Leaf>::Item BasicTree<Leaf>::operator[](const char* key) const {
  return (*this)[std::string(key)];
}

template <class Leaf>
void BasicTree<Leaf>::set(const std::string& key, BasicTree value) {
  kind_ = Kind::dict;
  entries_.insert_or_assign(key, std::move(value));
}

}  // namespace meshwise

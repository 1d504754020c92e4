#pragma once
// The part of tree.hpp that needs Item complete.

#include "meshwise/array/tree.hpp"

namespace meshwise {

/// Local. A node reached by [] : the leaf itself where it is one, with its subtree beside it.
template <class Leaf>
class BasicTree<Leaf>::Item : public Leaf {
 public:
  explicit Item(const BasicTree& node) : Leaf(node.is_leaf() ? node.leaf() : Leaf{}), node_(node) {}
  const BasicTree& tree() const { return node_; }
  Item operator[](const std::string& key) const { return node_[key]; }
  Item operator[](const char* key) const { return node_[key]; }
  Item operator[](std::size_t position) const { return Item(node_.items().at(position)); }

 private:
  BasicTree node_;
};

template <class Leaf>
typename BasicTree<Leaf>::Item BasicTree<Leaf>::operator[](const std::string& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) throw IndexError("tree: no entry '" + key + "'");
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

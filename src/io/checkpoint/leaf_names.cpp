// The tree of a checkpoint as names and as text.

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "io/checkpoint/manifest.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

using nlohmann::json;

// How many bytes of valid UTF-8 a character at `at` takes; 0 where there is none (RFC 3629).
std::size_t character(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t k) { return at + k < text.size() ? static_cast<unsigned char>(text[at + k]) : 0u; };
  const auto follows = [&](std::size_t k, unsigned low = 0x80, unsigned high = 0xBF) { return byte(k) >= low && byte(k) <= high; };
  const auto first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) return follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  if (first >= 0xF0 && first <= 0xF4)
    return follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3) ? 4 : 0;
  return 0;
}

std::string escaped(const std::string& key) {
  if (key.empty()) return "%";
  if (key == ".") return "%2E";
  if (key == "..") return "%2E%2E";
  std::string name;
  for (std::size_t at = 0; at < key.size();) {
    const auto length = character(key, at);
    const auto byte = static_cast<unsigned char>(key[at]);
    if (length == 0 || byte < 0x20 || byte == 0x7F || byte == '/' || byte == '%') {
      name += fmt::format("%{:02X}", byte);
      ++at;
    } else {
      name += key.substr(at, length);
      at += length;
    }
  }
  return name;
}

std::string unescaped(const std::string& name) {
  if (name == "%") return {};
  std::string key;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] != '%') {
      key += name[at];
      continue;
    }
    if (at + 2 >= name.size() || !std::isxdigit(static_cast<unsigned char>(name[at + 1])) ||
        !std::isxdigit(static_cast<unsigned char>(name[at + 2])))
      throw CheckpointError(fmt::format("the name '{}' has a % that begins no byte", name));
    key += static_cast<char>(std::stoi(name.substr(at + 1, 2), nullptr, 16));
    at += 2;
  }
  return key;
}

void visit_below(const Tree& tree, const std::string& name, const NodeVisitor& visit) {
  visit(tree, tree.is_leaf() && name.empty() ? "array" : name);
  const auto below = [&](const std::string& key) { return name.empty() ? key : name + "/" + key; };
  for (const auto& [key, child] : tree.entries()) visit_below(child, below(escaped(key)), visit);
  for (std::size_t item = 0; item < tree.items().size(); ++item) visit_below(tree.items()[item], below(std::to_string(item)), visit);
}

json node_of(const Tree& tree, std::size_t& next) {
  switch (tree.kind()) {
    case Tree::Kind::empty:
      return nullptr;
    case Tree::Kind::leaf:
      return next++;
    case Tree::Kind::dict: {
      auto entries = json::array();
      for (const auto& [key, child] : tree.entries()) entries.push_back({escaped(key), node_of(child, next)});
      return {{"dict", std::move(entries)}};
    }
    default: {
      auto items = json::array();
      for (const auto& child : tree.items()) items.push_back(node_of(child, next));
      return {{tree.kind() == Tree::Kind::list ? "list" : "tuple", std::move(items)}};
    }
  }
}

Tree tree_of_node(const json& node, const std::vector<Array>& leaves) {
  if (node.is_null()) return {};
  if (node.is_number_unsigned()) return Tree(leaves.at(node.get<std::size_t>()));
  const auto& kind = node.begin().key();
  const auto& children = node.begin().value();
  if (kind == "dict") {
    Tree::Entries entries;
    for (const auto& entry : children) entries.emplace(unescaped(entry.at(0).get<std::string>()), tree_of_node(entry.at(1), leaves));
    return Tree(std::move(entries));
  }
  std::vector<Tree> items;
  for (const auto& child : children) items.push_back(tree_of_node(child, leaves));
  if (kind == "list") return Tree::list(std::move(items));
  if (kind == "tuple") return Tree::tuple(std::move(items));
  throw CheckpointError(fmt::format("the tree has a '{}', which is no container", kind));
}

}  // namespace

void for_each_node(const Tree& tree, NodeVisitor visit) { visit_below(tree, {}, visit); }

std::string tree_text(const Tree& tree) {
  std::size_t next = 0;
  return node_of(tree, next).dump();
}

Tree tree_of_text(const std::string& text, const std::vector<Array>& leaves) {
  try {
    return tree_of_node(json::parse(text), leaves);
  } catch (const json::exception& e) {
    throw CheckpointError(fmt::format("the tree of the checkpoint cannot be read: {}", e.what()));
  } catch (const std::out_of_range&) {
    throw CheckpointError("the tree of the checkpoint names an array that is not there");
  }
}

}  // namespace meshwise::detail

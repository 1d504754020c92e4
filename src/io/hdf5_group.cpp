#include "io/hdf5_group.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "io/hdf5_types.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

using Kind = Tree::Kind;

struct Node {
  Kind kind = Kind::dict;
  std::string name{};  // of a leaf
  Found found{};
  std::map<std::string, Node> entries{};
};

std::optional<Found> array_in(hid_t dataset) {
  const Handle type(checked(H5Dget_type(dataset), "read an element type"), H5Tclose),
      space(checked(H5Dget_space(dataset), "read a shape"), H5Sclose);
  const auto dtype = dtype_of_type(type);
  if (!dtype || H5Sget_simple_extent_type(space) == H5S_NULL) return {};
  std::vector<hsize_t> lengths(static_cast<std::size_t>(checked(H5Sget_simple_extent_ndims(space), "read a shape")));
  if (!lengths.empty()) checked(H5Sget_simple_extent_dims(space, lengths.data(), nullptr), "read a shape");
  return Found{*dtype, Shape(std::vector<std::int64_t>(lengths.begin(), lengths.end()))};
}

Kind kind_of_group(hid_t group, const std::map<std::string, Node>& entries) {
  const auto text = text_attribute(group, "meshwise_kind");
  if (text == kind_text(Kind::empty) && entries.empty()) return Kind::empty;
  for (const auto kind : {Kind::list, Kind::tuple}) {
    if (text != kind_text(kind)) continue;
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (!entries.contains(std::to_string(i))) return Kind::dict;  // others have changed it
    return kind;
  }
  return Kind::dict;
}

class Reader {
 public:
  explicit Reader(bool skips) : skips_(skips) {}

  std::optional<Node> node(hid_t parent, const std::string& name, const std::string& path) {
    const Handle object(H5Oopen(parent, name.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object.is_open()) return unreadable(path + why_not_open(parent, name));
    const auto type = H5Iget_type(object);
    if (type == H5I_GROUP) return group(object, path);
    if (type != H5I_DATASET) return {};  // a named type holds no values
    const auto found = array_in(object);
    if (!found) return unreadable(path + " " + description(object));
    return Node{Kind::leaf, path, *found, {}};
  }

  void finish() const {
    if (unreadable_.empty() || skips_) return;
    constexpr std::size_t most = 20;
    const auto shown = std::span(unreadable_).first(std::min(most, unreadable_.size()));
    throw CheckpointError(
        fmt::format("{}{} cannot be arrays, which need a shape and a bool, integer, floating-point type to 64 bits or complex {{r,i}}; "
                    "skip_unreadable leaves them out, `only` names what to read",
                    fmt::join(shown, ", "), unreadable_.size() > most ? ", and more" : ""));
  }

 private:
  std::optional<Node> unreadable(std::string words) {
    unreadable_.push_back(std::move(words));
    return {};
  }

  Node group(hid_t id, const std::string& path) {
    H5O_info_t info{};
    checked(H5Oget_info(id, &info), "look at a group");
    const auto here = std::pair(info.fileno, info.addr);
    if (std::find(around_.begin(), around_.end(), here) != around_.end()) throw CheckpointError(path + " is a group that is inside itself");
    around_.push_back(here);
    Node node;
    for (const auto& name : names(id))
      if (auto entry = this->node(id, name, (path == "/" ? "" : path) + "/" + name)) node.entries.emplace(name, std::move(*entry));
    around_.pop_back();
    node.kind = kind_of_group(id, node.entries);
    return node;
  }

  static std::vector<std::string> names(hid_t group) {
    std::vector<std::string> all;
    checked(H5Literate(
                group, H5_INDEX_NAME, H5_ITER_INC, nullptr,
                [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
                  static_cast<std::vector<std::string>*>(out)->emplace_back(name);
                  return 0;
                },
                &all),
            "list a group");
    return all;
  }

  bool skips_;
  std::vector<std::string> unreadable_{};
  std::vector<std::pair<unsigned long, haddr_t>> around_{};  // the groups we are in
};

void pack(PackedText& text, const Node& node) {
  text.add(static_cast<std::int64_t>(node.kind));
  if (node.kind == Kind::leaf) {
    text.add(node.name);
    pack(text, node.found);
    return;
  }
  text.add(static_cast<std::int64_t>(node.entries.size()));
  for (const auto& [key, entry] : node.entries) {
    text.add(key);
    pack(text, entry);
  }
}

Array without_values(const Found& found) {
  auto state = std::make_shared<State>(default_sharding());
  state->kind = State::Kind::recipe;
  state->shape = found.shape;
  state->dtype = found.dtype;
  return Array(std::move(state));
}

Node unpack_node(UnpackedText& text) {
  Node node{static_cast<Kind>(text.number()), {}, {}, {}};
  if (node.kind == Kind::leaf) {
    node.name = text.words();
    node.found = unpack_found(text);
    return node;
  }
  for (auto entries = text.number(); entries > 0; --entries) {
    auto key = text.words();
    node.entries.emplace(std::move(key), unpack_node(text));
  }
  return node;
}

Tree tree_of(const Node& node, StoredTree& stored) {
  if (node.kind == Kind::leaf) {
    stored.names.push_back(node.name);
    stored.found.push_back(node.found);
    return without_values(node.found);
  }
  if (node.kind == Kind::empty) return {};
  if (node.kind == Kind::dict) {
    Tree::Entries entries;
    for (const auto& [key, entry] : node.entries) entries.emplace(key, tree_of(entry, stored));
    return entries;
  }
  std::vector<Tree> items;
  for (std::size_t i = 0; i < node.entries.size(); ++i) items.push_back(tree_of(node.entries.at(std::to_string(i)), stored));
  return node.kind == Kind::list ? Tree::list(std::move(items)) : Tree::tuple(std::move(items));
}

}  // namespace

std::string kind_text(Kind kind) {
  return kind == Kind::list ? "list" : kind == Kind::tuple ? "tuple" : kind == Kind::empty ? "none" : "dict";
}

std::string pack_group(hid_t file, const std::string& group, const io::ReadTreeOptions& options) {
  const auto check_there = [&](const std::string& path) {
    if (!exists(file, path)) throw CheckpointError(fmt::format("there is no {}; {}", path, contents(file)));
  };
  check_there(group);
  Reader reader(options.skip_unreadable);
  Node root;
  if (options.only.empty()) {
    if (auto node = reader.node(file, group, group)) root = std::move(*node);
  }
  for (const auto& name : options.only) {
    const auto below = object_name(name);  // with a leading slash
    const auto path = object_name(group + "/" + below);
    check_there(path);
    auto node = reader.node(file, path, path);
    if (!node) continue;
    auto* at = &root;
    for (std::size_t slash = 0; at->kind != Kind::leaf && slash < below.size() && below != "/";) {
      const auto next = std::min(below.find('/', slash + 1), below.size());
      at = &at->entries[below.substr(slash + 1, next - slash - 1)];
      slash = next;
    }
    *at = std::move(*node);
  }
  reader.finish();
  PackedText text;
  pack(text, root);
  return text.text();
}

StoredTree unpack_group(std::string_view text) {
  UnpackedText packed(text);
  const auto root = unpack_node(packed);
  StoredTree stored;
  stored.tree = tree_of(root, stored);
  return stored;
}

}  // namespace meshwise::detail

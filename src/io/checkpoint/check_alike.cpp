// What ranks must agree on before a save touches a file.

#include <vector>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "array/state.hpp"
#include "io/agreement.hpp"
#include "io/checkpoint/save_job.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

namespace {

// One thing a line, so that the first line that differs names what differs.
std::vector<std::string> lines_of(const SaveRequest& request, const Tree& tree) {
  std::vector<std::string> lines{fmt::format("the folder '{}'", request.root),
                                 fmt::format("step {}", request.step),
                                 fmt::format("metadata {}", request.options.metadata.empty() ? "none" : request.options.metadata),
                                 fmt::format("metrics {}", nlohmann::json(request.options.metrics).dump()),
                                 request.options.overwrite ? "overwrite" : "no overwrite",
                                 fmt::format("keep {} {} {}", request.keep.last, request.keep.every, request.keep.best.size()),
                                 request.in_flight.empty() ? "no save in flight" : "a save in flight, " + request.in_flight};
  for (auto& line : Leaves::lines(tree)) lines.push_back(std::move(line));
  return lines;
}

std::uint64_t hash_of(const SaveRequest& request) {
  auto hash = mix(mix(hash_text(request.root), request.step), std::string_view(request.options.metadata));
  for (const auto& [metric, value] : request.options.metrics)
    hash = mix(mix(hash, std::string_view(metric)), std::string_view(fmt::format("{}", value)));
  hash = mix(mix(hash, request.options.overwrite), std::string_view(request.in_flight));
  hash = mix(mix(mix(hash, request.keep.last), request.keep.every), std::uint64_t{request.keep.best.size()});
  return mix(hash, request.leaves.hash);
}

std::uint64_t hash_of(std::uint64_t hash, const Array& x) {
  if (!x.is_set()) return hash;
  const auto& state = *x.state();
  hash = mix(mix(mix(hash, static_cast<std::uint64_t>(state.dtype)), state.sharding.hash()), state.committed);
  hash = mix(mix(hash, state.kind == State::Kind::shards), !state.deleted_by.empty());
  for (const auto length : state.shape) hash = mix(hash, length);
  return hash;
}

}  // namespace

Leaves::Leaves(const Tree& tree) {
  for_each_node(tree, [&](const Tree& node, const std::string& name) {
    hash = mix(mix(hash, static_cast<std::uint64_t>(node.kind())), std::uint64_t{node.size()});
    if (!node.is_leaf()) return;
    hash = hash_of(mix(hash, hash_text(name)), node.leaf());
    names.push_back(name);
    arrays.push_back(node.leaf());
  });
}

std::vector<std::string> Leaves::lines(const Tree& tree) {
  std::vector<std::string> lines;
  for (const auto& [path, x] : tree_flatten_with_path(tree)) {
    const auto name = path.empty() ? "the array" : path;
    lines.push_back(
        !x.is_set() ? name + " no array"
                    : fmt::format("{} {}{}{}{}", name, type_string(x),
                                  x.state()->kind == State::Kind::shards ? "" : ", the same values on every rank",
                                  x.committed() ? " on " + to_string(x.sharding().mesh()) + " " + to_string(x.sharding().devices()) : "",
                                  x.is_deleted() ? ", deleted" : ""));
  }
  return lines;
}

void check_alike(const SaveRequest& request, const Tree& tree) {
  const auto ticket = enter_world_call({"save", hash_text("save")});
  same_lines(
      "save", hash_of(request), [&] { return lines_of(request, tree); }, ticket);
  if (request.step < 0) throw CheckpointError(fmt::format("{}: a step is not negative", request.call()));
  if (!request.options.metadata.empty() && !nlohmann::json::accept(request.options.metadata))
    throw CheckpointError(fmt::format("{}: the metadata are no JSON text: {}", request.call(), request.options.metadata));
  for (std::size_t k = 0; k < request.leaves.arrays.size(); ++k) {
    const auto& leaf = request.leaves.arrays[k];
    if (!leaf.is_set()) throw CheckpointError(fmt::format("{}: {} is no array", request.call(), request.leaves.names[k]));
    check_alive(leaf, "save", request.leaves.names[k]);
  }
}

}  // namespace meshwise::detail

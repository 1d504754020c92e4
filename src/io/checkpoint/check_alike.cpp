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
std::vector<std::string> lines_of(const SaveRequest& request, const std::vector<PathLeaf>& leaves) {
  std::vector<std::string> lines{
      fmt::format("the folder '{}'", request.root), fmt::format("step {}", request.step),
      fmt::format("metadata {}", request.options.metadata.empty() ? "none" : request.options.metadata),
      fmt::format("metrics {}", nlohmann::json(request.options.metrics).dump()), request.options.overwrite ? "overwrite" : "no overwrite",
      fmt::format("keep {} {} {}", request.keep.last, request.keep.every, request.keep.best.size()),
      request.in_flight.empty() ? "no save in flight" : "a save in flight, " + request.in_flight};
  for (const auto& leaf : leaves) lines.push_back(line_of(leaf));
  return lines;
}

std::uint64_t hash_of_all(const SaveRequest& request, const std::vector<PathLeaf>& leaves) {
  auto hash = mix(mix(hash_text(request.root), request.step), std::string_view(request.options.metadata));
  for (const auto& [metric, value] : request.options.metrics) hash = mix(mix(hash, std::string_view(metric)), std::string_view(fmt::format("{}", value)));
  hash = mix(mix(hash, request.options.overwrite), std::string_view(request.in_flight));
  hash = mix(mix(mix(hash, request.keep.last), request.keep.every), std::uint64_t{request.keep.best.size()});
  return mix(hash, hash_of(leaves));
}

}  // namespace

std::string line_of(const PathLeaf& leaf) {
  const auto path = leaf.path.empty() ? "the array" : leaf.path;
  if (!leaf.leaf.is_set()) return path + " no array";
  const auto& x = leaf.leaf;
  return fmt::format("{} {}{}{}{}", path, type_string(x), x.state()->kind == State::Kind::shards ? "" : ", the same values on every rank",
                     x.committed() ? " on " + to_string(x.sharding().mesh()) + " " + to_string(x.sharding().devices()) : "", x.is_deleted() ? ", deleted" : "");
}

std::uint64_t hash_of(const std::vector<PathLeaf>& leaves) {
  std::uint64_t hash = leaves.size();
  for (const auto& [path, leaf] : leaves) {
    hash = mix(hash, hash_text(path));
    if (!leaf.is_set()) continue;
    const auto& state = *leaf.state();
    hash = mix(mix(mix(hash, static_cast<std::uint64_t>(state.dtype)), state.sharding.hash()), state.committed);
    hash = mix(mix(hash, state.kind == State::Kind::shards), !state.deleted_by.empty());
    for (const auto length : state.shape) hash = mix(hash, length);
  }
  return hash;
}

void check_alike(const SaveRequest& request) {
  const auto ticket = enter_world_call({"save", hash_text("save")});
  const auto leaves = tree_flatten_with_path(request.tree);
  same_lines("save", hash_of_all(request, leaves), [&] { return lines_of(request, leaves); }, ticket);
  if (request.step < 0) throw CheckpointError(fmt::format("{}: a step is not negative", request.call()));
  if (!request.options.metadata.empty() && !nlohmann::json::accept(request.options.metadata))
    throw CheckpointError(fmt::format("{}: the metadata are no JSON text: {}", request.call(), request.options.metadata));
  for (const auto& [path, leaf] : leaves) {
    if (!leaf.is_set()) throw CheckpointError(fmt::format("{}: {} is no array", request.call(), path));
    check_alive(leaf, "save", path);
  }
}

}  // namespace meshwise::detail

// What ranks must agree on before a save touches a file.

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "array/state.hpp"
#include "io/agreement.hpp"
#include "io/checkpoint/save_job.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/runtime/collectives.hpp"
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
  for (const auto& [path, leaf] : leaves)
    lines.push_back(fmt::format("{} {}{}", path.empty() ? "the array" : path, leaf.is_set() ? type_string(leaf) : "no array",
                                leaf.is_set() && leaf.committed() ? " on " + to_string(leaf.sharding().mesh()) + " " + to_string(leaf.sharding().devices()) : ""));
  return lines;
}

std::uint64_t hash_of(const SaveRequest& request, const std::vector<PathLeaf>& leaves) {
  auto hash = mix(mix(hash_text(request.root), request.step), std::string_view(request.options.metadata));
  for (const auto& [metric, value] : request.options.metrics) hash = mix(mix(hash, std::string_view(metric)), std::string_view(fmt::format("{}", value)));
  hash = mix(mix(hash, request.options.overwrite), std::string_view(request.in_flight));
  hash = mix(mix(mix(hash, request.keep.last), request.keep.every), request.keep.best.size());
  for (const auto& [path, leaf] : leaves) {
    hash = mix(hash, std::string_view(path));
    if (!leaf.is_set()) continue;
    const auto& state = *leaf.state();
    hash = mix(mix(mix(hash, static_cast<std::uint64_t>(state.dtype)), state.sharding.hash()), state.committed);
    hash = mix(mix(hash, static_cast<std::uint64_t>(state.kind)), !state.deleted_by.empty());
    for (const auto length : state.shape) hash = mix(hash, length);
  }
  return hash;
}

}  // namespace

void check_alike(const SaveRequest& request) {
  const auto ticket = enter_world_call({"save", hash_text("save")});
  const auto leaves = tree_flatten_with_path(request.tree);
  const auto hashes = all_gather_text(fmt::format("{:016x}", hash_of(request, leaves)), ticket);
  if (std::any_of(hashes.begin(), hashes.end(), [&](const std::string& hash) { return hash != hashes[0]; })) {
    const auto lines = lines_of(request, leaves);
    const auto texts = all_gather_text(nlohmann::json(lines).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), ticket);
    const auto first = nlohmann::json::parse(texts[0]).get<std::vector<std::string>>();
    for (std::size_t rank = 1; rank < texts.size(); ++rank) {
      const auto other = nlohmann::json::parse(texts[rank]).get<std::vector<std::string>>();
      const auto [a, b] = std::mismatch(first.begin(), first.end(), other.begin(), other.end());
      if (a == first.end() && b == other.end()) continue;
      throw MismatchError(fmt::format("save: every rank must pass the same: rank 0: {}; rank {}: {}", a == first.end() ? "nothing more" : *a, rank,
                                      b == other.end() ? "nothing more" : *b));
    }
    throw MismatchError("save: every rank must pass the same, and some passed arrays that are deleted or made differently");
  }
  if (request.step < 0) throw CheckpointError(fmt::format("{}: a step is not negative", request.call()));
  if (!request.options.metadata.empty() && !nlohmann::json::accept(request.options.metadata))
    throw CheckpointError(fmt::format("{}: the metadata are no JSON text: {}", request.call(), request.options.metadata));
  for (const auto& [path, leaf] : leaves) {
    if (!leaf.is_set()) throw CheckpointError(fmt::format("{}: {} is no array", request.call(), path));
    check_alive(leaf, "save", path);
  }
}

}  // namespace meshwise::detail

// Checkpointer's loads: what is asked for is compared with what is there, then read.

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "array/state.hpp"
#include "base/clock.hpp"
#include "io/agreement.hpp"
#include "io/checkpoint/checkpointer.hpp"
#include "io/checkpoint/commit.hpp"
#include "io/checkpoint/meter.hpp"
#include "io/checkpoint/restore_run.hpp"
#include "io/packed_text.hpp"
#include "io/placed.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/transport.hpp"

namespace meshwise::io {

namespace {

using detail::agreed;
using detail::Manifest;
using detail::StoredArray;
using Clock = std::chrono::steady_clock;

// The checkpoint is as it was, and not what was asked for: an older one would be no better.
class AskedWrongly : public CheckpointError {
 public:
  using CheckpointError::CheckpointError;
};

// Where every rank is to have all values: on each of its devices, one copy a node.
Sharding everywhere() { return NamedSharding(make_mesh({devices().size()}, {"ranks"}), P()); }

// One of the arrays that a load makes.
struct Leaf {
  const StoredArray* stored = nullptr;
  Index region{};
  std::optional<Sharding> target{};  // none: uncommitted
  Dtype dtype = float32;             // what it is converted to
};

// The manifest as rank 0 reads it: other ranks may be on hosts whose view of the folder is older.
Manifest read_for_all(const std::string& call, const std::string& folder, const detail::Ticket& ticket) {
  const auto text = agreed(call, ticket, [&]() -> std::string {
    if (process_index() != 0) return {};
    const auto parts = detail::read_manifest_parts(folder, detail::read_commit(folder));
    detail::PackedText packed;
    packed.add(parts.text);
    packed.add(parts.places);
    packed.add(parts.ranges);
    packed.add(parts.checksums);
    return packed.text();
  })[0];
  detail::UnpackedText packed(text);
  detail::ManifestParts parts;
  parts.text = packed.words();
  parts.places = packed.values<std::int64_t>();
  parts.ranges = packed.values<std::int64_t>();
  parts.checksums = packed.values<std::uint32_t>();
  try {
    return detail::decode(parts);
  } catch (const CheckpointError& e) {
    throw CheckpointError(fmt::format("{}: {}", call, e.what()));
  }
}

std::vector<Array> read_arrays(const std::string& call, const std::string& folder, const Manifest& manifest,
                               const std::vector<Leaf>& leaves, const CheckpointOptions& options, LoadReport& report,
                               const detail::Ticket& ticket) {
  std::vector<detail::Wanted> wanted;
  for (const auto& leaf : leaves) {
    wanted.push_back({leaf.stored, leaf.region, leaf.target ? *leaf.target : everywhere()});
    report.bytes += leaf.region.num_elements() * static_cast<std::int64_t>(itemsize(leaf.stored->dtype));
  }
  detail::RestoreRun run(folder, manifest, std::move(wanted));
  report.bytes_read = run.plan().bytes_read;
  agreed(call, ticket, [&] {
    run.allocate();
    return std::string();
  });
  {
    detail::Meter meter(options);
    run.run([&] {
      detail::poll();
      meter.show({"load", manifest.step, run.bytes_done(), run.bytes_to_read()});
    });
  }
  agreed(call, ticket, [&] {
    run.check();
    return std::string();
  });
  auto shards = run.shards();
  std::vector<Array> arrays;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const auto& leaf = leaves[k];
    const auto shape = leaf.region.shape();
    auto array = leaf.target ? detail::make_sharded_array(shape, leaf.stored->dtype, *leaf.target, true, std::move(shards[k]))
                             : detail::make_everywhere_array(std::move(shards[k][0].data));
    arrays.push_back(leaf.dtype == leaf.stored->dtype ? std::move(array) : array.astype(leaf.dtype));
  }
  return arrays;
}

bool is_below(const std::string& name, const std::string& path) { return name == path || path.empty() || name.starts_with(path + "/"); }

std::string listed(const std::vector<std::string>& lines) {
  constexpr std::size_t most = 10;
  auto text = fmt::format("{}", fmt::join(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(most, lines.size())), "; "));
  return lines.size() > most ? text + fmt::format("; and {} more", lines.size() - most) : text;
}

// Which leaves of `like` come from the checkpoint, and what speaks against it.
std::vector<std::optional<Leaf>> match(const std::string& call, const Manifest& manifest, const detail::Leaves& like,
                                       const LoadOptions& options, LoadReport& report) {
  std::unordered_map<std::string_view, const StoredArray*> stored;
  stored.reserve(manifest.arrays.size());
  for (const auto& array : manifest.arrays) stored.emplace(array.name, &array);
  const auto in_paths = [&](const std::string& name) {
    return options.paths.empty() ||
           std::any_of(options.paths.begin(), options.paths.end(), [&](const std::string& path) { return is_below(name, path); });
  };
  std::vector<std::string> problems;
  const auto& names = like.names;
  for (const auto& path : options.paths) {
    const auto below = [&](const std::string& name) { return is_below(name, path); };
    if (std::none_of(names.begin(), names.end(), below)) problems.push_back(fmt::format("nothing in `like` is below the path {}", path));
  }
  std::vector<std::optional<Leaf>> leaves(names.size());
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (!in_paths(names[k])) continue;
    const auto& x = like.arrays[k];
    const auto found = stored.find(names[k]);
    if (found == stored.end()) {
      report.missing.push_back(names[k]);
      if (!options.missing) problems.push_back(fmt::format("{} is missing in the checkpoint; wanted {}", names[k], type_string(x)));
      continue;
    }
    const auto& array = *found->second;
    stored.erase(found);
    const auto words = [&] {
      return fmt::format("{} is stored as {}, wanted {}", names[k], detail::type_text(manifest, array), type_string(x));
    };
    if (array.shape != x.shape()) {
      report.missing.push_back(names[k]);
      if (!options.missing) problems.push_back(words());
      continue;
    }
    if (array.dtype != x.dtype()) {
      report.converted.push_back(names[k]);
      if (!options.convert) problems.push_back(words());
    }
    leaves[k] = Leaf{&array, Index::whole(array.shape), x.committed() ? std::optional(x.sharding()) : std::nullopt, x.dtype()};
  }
  for (const auto& array : manifest.arrays) {
    if (!stored.contains(array.name) || !in_paths(array.name)) continue;
    report.extra.push_back(array.name);
    if (!options.extra)
      problems.push_back(fmt::format("{} {} is in the checkpoint and not wanted", array.name, detail::type_text(manifest, array)));
  }
  if (problems.empty()) return leaves;
  throw AskedWrongly(fmt::format("{}: {}. LoadOptions says what may differ: missing, extra, convert, paths.", call, listed(problems)));
}

std::uint64_t hash_of(const LoadOptions& options) {
  std::uint64_t hash = options.missing + 2u * options.extra + 4u * options.convert;
  for (const auto& path : options.paths) hash = detail::mix(hash, std::string_view(path));
  return hash;
}

Loaded load_step(const Checkpointer::State& state, std::int64_t step, const Tree& like, const LoadOptions& options) {
  const auto start = Clock::now();
  const auto ticket = detail::enter_world_call({"load", detail::hash_text("load")});
  const auto call = fmt::format("load({}) from '{}'", step, state.root);
  const detail::Leaves all(like);
  detail::same_lines(
      "load", detail::mix(detail::mix(detail::hash_text(call), hash_of(options)), all.hash),
      [&] {
        auto lines = detail::Leaves::lines(like);
        lines.insert(lines.begin(), {call, fmt::format("missing {}, extra {}, convert {}, paths {}", options.missing, options.extra,
                                                       options.convert, options.paths)});
        return lines;
      },
      ticket);
  for (std::size_t k = 0; k < all.names.size(); ++k)
    if (!all.arrays[k].is_set()) throw AskedWrongly(fmt::format("{}: {} of `like` is no array", call, all.names[k]));
  const auto manifest = read_for_all(call, state.path_of(step), ticket);
  Loaded loaded{{}, {.step = step}};
  const auto leaves = match(call, manifest, all, options, loaded.report);
  std::vector<Leaf> read;
  for (const auto& leaf : leaves)
    if (leaf) read.push_back(*leaf);
  auto arrays = read_arrays(call, state.path_of(step), manifest, read, state.options, loaded.report, ticket);
  std::vector<Array> result;
  auto next = arrays.begin();
  for (std::size_t k = 0; k < leaves.size(); ++k) result.push_back(leaves[k] ? std::move(*next++) : all.arrays[k]);
  static_cast<Tree&>(loaded) = tree_unflatten(like, result);
  loaded.report.seconds = detail::seconds_since(start);
  return loaded;
}

}  // namespace

Loaded Checkpointer::load(std::int64_t step, const Tree& like, LoadOptions options) { return load_step(*state_, step, like, options); }

Loaded Checkpointer::load(Latest latest, const Tree& like, LoadOptions options) {
  if (!latest) throw CheckpointError(fmt::format("load: there is no step in '{}' to load", state_->root));
  std::vector<std::string> passed_over;
  auto candidates = steps();
  std::erase_if(candidates, [&](std::int64_t step) { return step > latest.step; });
  if (candidates.empty() || candidates.back() != latest.step) candidates.push_back(latest.step);
  for (;;) {
    const auto step = candidates.back();
    candidates.pop_back();
    try {
      auto loaded = load_step(*state_, step, like, options);
      loaded.report.passed_over = std::move(passed_over);
      return loaded;
    } catch (const AskedWrongly&) {
      throw;
    } catch (const CheckpointError& e) {
      if (candidates.empty()) throw;
      if (process_index() == 0)
        fmt::print(stderr, "meshwise: {}\nmeshwise: step {} is passed over for step {}\n", e.what(), step, candidates.back());
      passed_over.emplace_back(e.what());
    }
  }
}

Loaded Checkpointer::load(std::int64_t step, const ShardingTree& targets) {
  const auto start = Clock::now();
  const auto ticket = detail::enter_world_call({"load", detail::hash_text("load, by targets")});
  const auto call = fmt::format("load({}) from '{}'", step, state_->root);
  detail::same_call("load", call, ticket);
  const auto manifest = read_for_all(call, state_->path_of(step), ticket);
  // A tree of arrays that are nothing but types: what the targets are a prefix of.
  std::vector<Array> types;
  for (const auto& array : manifest.arrays) types.push_back(zeros(array.shape, array.dtype));
  const auto stored = detail::tree_of_text(manifest.tree, types);
  const auto wanted = broadcast_prefix(targets, stored, "load");
  std::vector<Leaf> leaves;
  std::uint64_t hash = 0;
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < manifest.arrays.size(); ++k) {
    const auto& array = manifest.arrays[k];
    auto target = detail::sharding_of(wanted[k]);
    if (target) target->check_fits(array.shape);
    hash = detail::mix(hash, target ? target->hash() : 0);
    lines.push_back(array.name + (target ? " on " + detail::words_of(*target) : " uncommitted"));
    leaves.push_back({&array, Index::whole(array.shape), std::move(target), array.dtype});
  }
  detail::same_lines(
      "load", hash, [&] { return lines; }, ticket);
  Loaded loaded{{}, {.step = step}};
  static_cast<Tree&>(loaded) = detail::tree_of_text(
      manifest.tree, read_arrays(call, state_->path_of(step), manifest, leaves, state_->options, loaded.report, ticket));
  loaded.report.seconds = detail::seconds_since(start);
  return loaded;
}

Array Checkpointer::load_array(std::int64_t step, const std::string& path, const Target& where, std::optional<Index> box) {
  const auto ticket = detail::enter_world_call({"load_array", detail::hash_text("load_array")});
  const auto target = detail::sharding_of(where);
  const auto call = fmt::format("load_array({}, '{}'{}) from '{}'", step, path, box ? ", " + to_string(*box) : "", state_->root);
  detail::same_call("load_array", fmt::format("{}{}", call, target ? " on " + detail::words_of(*target) : ""), ticket);
  const auto manifest = read_for_all(call, state_->path_of(step), ticket);
  const auto* array = manifest.find(path);
  if (array == nullptr) {
    std::vector<std::string> names;
    for (const auto& stored : manifest.arrays) names.push_back(stored.name);
    throw CheckpointError(fmt::format("{}: there is no such array; there are {}", call, listed(names)));
  }
  const auto region = box ? *box : Index::whole(array->shape);
  bool inside = region.ndim() == array->shape.ndim();
  for (std::int64_t axis = 0; inside && axis < region.ndim(); ++axis)
    inside = region[axis].start >= 0 && region[axis].start <= region[axis].stop && region[axis].stop <= array->shape[axis];
  if (!inside) throw IndexError(fmt::format("{}: {} is no box of {}", call, to_string(region), detail::type_text(manifest, *array)));
  if (target) target->check_fits(region.shape());
  LoadReport report;
  return read_arrays(call, state_->path_of(step), manifest, {{array, region, target, array->dtype}}, state_->options, report, ticket)[0];
}

}  // namespace meshwise::io

#include <algorithm>
#include <optional>

#include "array/dispatch.hpp"
#include "array/negotiate.hpp"
#include "array/place.hpp"
#include "array/recent.hpp"
#include "array/rehearsal.hpp"
#include "array/run.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/watch.hpp"

namespace meshwise::detail {

namespace {

End end_of(const Sharding& sharding, const Shape& shape, const PerAxis<AxisView>& views, const PerAxis<std::int64_t>& fixed) {
  End end{sharding};
  end.shape = shape;
  end.views.assign(views.begin(), views.end());
  end.fixed.assign(fixed.begin(), fixed.end());
  return end;
}

/// The part of a region, in its own coordinates, that falls into the box `held` of the result; absent where there is none.
std::optional<Index> region_in(const RegionMove& move, const Shape& shape, const Index& held) {
  std::vector<bool> named(static_cast<std::size_t>(shape.ndim()), false);
  Index box;
  for (std::int64_t d = 0; d < move.extent.ndim(); ++d) {
    const auto& view = move.target[static_cast<std::size_t>(d)];
    named[static_cast<std::size_t>(view.axis)] = true;
    box.push_back(intersect({held[view.axis].start - view.start, held[view.axis].stop - view.start}, {0, move.extent[d]}));
  }
  for (std::int64_t a = 0; a < shape.ndim(); ++a) {
    const auto at = move.target_fixed.empty() ? 0 : move.target_fixed[static_cast<std::size_t>(a)];
    if (!named[static_cast<std::size_t>(a)] && (at < held[a].start || at >= held[a].stop)) return std::nullopt;
  }
  if (box.empty()) return std::nullopt;
  return box;
}

/// The least box of the operand that holds the region's part.
Index hull(const RegionMove& move, const Shape& shape, const Index& box) {
  Index out;
  for (std::int64_t a = 0; a < shape.ndim(); ++a) {
    const auto at = move.source_fixed.empty() ? 0 : move.source_fixed[static_cast<std::size_t>(a)];
    out.push_back({at, at + 1});
  }
  for (std::int64_t d = 0; d < box.ndim(); ++d) {
    const auto& view = move.source[static_cast<std::size_t>(d)];
    const auto a = view.start + view.step * box[d].start, b = view.start + view.step * (box[d].stop - 1);
    out[view.axis] = {std::min(a, b), std::max(a, b) + 1};
  }
  return out;
}

/// Writes the regions of uncommitted operands into a block of the result.
void write_uncommitted(const Request& request, std::span<const RegionMove> moves, const Index& held, const LocalArray& block) {
  const auto anywhere = default_sharding();
  for (const auto& move : moves) {
    const auto& x = *request.operands[move.operand].array();
    if (x.committed()) continue;
    const auto box = region_in(move, request.shape, held);
    if (!box) continue;
    const auto from = hull(move, x.shape(), *box);
    const auto values = uncommitted_box(x, from);
    const auto memory = box_memory(end_of(anywhere, x.shape(), move.source, move.source_fixed), from, values, *box);
    copy_box(memory, box_memory(end_of(anywhere, request.shape, move.target, move.target_fixed), held, block, *box));
  }
}

bool covers_result(const Request& request, std::span<const RegionMove> moves) {
  std::int64_t written = 0;
  for (const auto& move : moves) written += move.extent.num_elements();
  return written >= request.shape.num_elements();
}

Recipe sliced_recipe(const Request& request, const RegionMove& move) {
  const auto& recipe = request.operands[move.operand].array()->state()->recipe;
  std::vector<std::int64_t> starts(static_cast<std::size_t>(recipe.shape.ndim()), 0), steps(starts.size(), 1);
  Shape counts(std::vector<std::int64_t>(starts.size(), 1));
  for (std::size_t a = 0; a < starts.size(); ++a) starts[a] = move.source_fixed.empty() ? 0 : move.source_fixed[a];
  for (std::int64_t d = 0; d < move.extent.ndim(); ++d) {
    const auto& view = move.source[static_cast<std::size_t>(d)];
    starts[static_cast<std::size_t>(view.axis)] = view.start;
    steps[static_cast<std::size_t>(view.axis)] = view.step;
    counts[view.axis] = move.extent[d];
  }
  return recipe.sliced(starts, steps, counts).reshaped(request.shape);
}

// ---- plans of committed operands, remembered ----

struct Key {
  std::shared_ptr<const Layout> layout;  // stands for the operands' shapes and shardings, and the result's
  std::vector<RegionMove> moves;
  std::size_t item;
  bool filled;
};

Recent<Key, MovePlan>& remembered() {
  constexpr std::size_t most_bytes = std::size_t{4} << 20;
  static auto* const immortal = new Recent<Key, MovePlan>(most_bytes);
  return *immortal;
}

std::uint64_t hash_moves(std::span<const RegionMove> moves, std::uint64_t h) {
  for (const auto& move : moves) {
    h = mix(h, move.operand);
    for (const auto* views : {&move.source, &move.target})
      for (const auto& view : *views) h = mix(mix(h, view.start), mix(static_cast<std::uint64_t>(view.axis), view.step));
    for (const auto* fixed : {&move.source_fixed, &move.target_fixed})
      for (const auto at : *fixed) h = mix(h, at);
  }
  return h;
}

/// The plan of the committed operands' moves; `sources` are their shards.
std::shared_ptr<const MovePlan> plan_of(const Request& request, std::span<const RegionMove> moves, const std::shared_ptr<const Layout>& layout,
                                        std::span<const std::span<const LocalShard>> sources, bool filled, bool has_writer) {
  const auto make = [&] {
    std::vector<MoveJob> jobs;
    for (const auto& move : moves) {
      const auto& x = *request.operands[move.operand].array();
      if (!x.committed()) continue;
      jobs.push_back({movement_of(move, request, layout->result), sources[jobs.size()]});
    }
    return std::make_shared<const MovePlan>(plan_moves(jobs, end_of(layout->result, request.shape, {}, {}), request.dtype, filled, has_writer));
  };
  const auto is_plain = [](std::span<const LocalShard> shards) { return std::all_of(shards.begin(), shards.end(), lies_plainly); };
  if (has_writer || !std::all_of(sources.begin(), sources.end(), is_plain)) return make();
  const auto item = itemsize(request.dtype);
  const auto hash = hash_moves(moves, mix(reinterpret_cast<std::uintptr_t>(layout.get()), item + (filled ? 1 : 0)));
  auto found = remembered().find(hash, [&](const Key& key) {
    return key.layout == layout && key.item == item && key.filled == filled && std::equal(key.moves.begin(), key.moves.end(), moves.begin(), moves.end());
  });
  if (found) return found;
  auto plan = make();
  remembered().add(hash, {layout, {moves.begin(), moves.end()}, item, filled}, plan, plan->bytes());
  return plan;
}

}  // namespace

Movement movement_of(const RegionMove& move, const Request& request, const Sharding& result) {
  const auto& x = *request.operands[move.operand].array();
  return {end_of(x.sharding(), x.shape(), move.source, move.source_fixed), end_of(result, request.shape, move.target, move.target_fixed), move.extent};
}

Array dispatch_moves(const Request& request, std::span<const RegionMove> moves, const Scalar& fill) {
  const auto negotiated = negotiate(request);
  if (rehearsing()) return rehearse_moves(request, moves, fill, negotiated);
  if (negotiated.layout == nullptr && moves.size() == 1 && all_recipes(request) && covers_result(request, moves))
    return make_recipe_array(sliced_recipe(request, moves[0]));

  std::byte value[16] = {};
  fill.store(request.dtype, value);
  const auto* background = covers_result(request, moves) ? nullptr : value;
  if (negotiated.layout == nullptr) {
    Array result;
    run_local_part(request.operation, [&] {
      LocalArray block(request.shape, request.dtype);
      if (background != nullptr) fill_value(block, background);
      write_uncommitted(request, moves, Index::whole(request.shape), block);
      result = make_everywhere_array(std::move(block));
    });
    return result;
  }

  std::vector<std::span<const LocalShard>> sources;
  sources.reserve(moves.size());
  for (const auto& move : moves)
    if (const auto& x = *request.operands[move.operand].array(); x.committed()) sources.push_back(ready_shards(x));
  LocalWriter writer;
  if (sources.size() < moves.size()) writer = [&](const Index& held, const LocalArray& block) { write_uncommitted(request, moves, held, block); };
  describe(negotiated.ticket, negotiated.layout->words);
  Moved moved;
  run_local_part(request.operation, [&] {
    const auto plan = plan_of(request, moves, negotiated.layout, sources, background != nullptr, static_cast<bool>(writer));
    moved = run_plan(*plan, sources, request.dtype, background, writer, negotiated.ticket);
  });
  return make_sharded_array(request.shape, request.dtype, negotiated.layout->result, true, std::move(moved.shards), std::move(moved.transfer));
}

}  // namespace meshwise::detail

#include "array/dispatch.hpp"

#include <algorithm>

#include "array/negotiate.hpp"
#include "array/place.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/watch.hpp"

namespace meshwise::detail {

namespace {

LocalArray literal_block(const Request& request, const Operand& operand) {
  LocalArray out(Shape{}, request.literal_dtype);
  operand.scalar()->store(request.literal_dtype, out.data());
  return out;
}

/// Every process computes the whole: no operand is committed.
Array compute_everywhere(const Request& request) {
  std::vector<LocalArray> inputs;
  std::vector<Index> boxes;
  for (const auto& operand : request.operands) {
    const auto* x = operand.array();
    boxes.push_back(x != nullptr ? Index::whole(x->shape()) : Index{});
    inputs.push_back(x != nullptr ? uncommitted_box(*x, boxes.back()) : literal_block(request, operand));
  }
  const auto whole = Index::whole(request.shape);
  auto value = request.kernel(inputs, {whole, boxes});
  if (request.reduction && request.reduction->finish) value = request.reduction->finish(value);
  return make_everywhere_array(std::move(value));
}

/// Every operand lies as the result: each of this rank's blocks is computed from those in its place.
Array compute_aligned(const Request& request, const Sharding& sharding) {
  std::vector<const std::vector<LocalShard>*> blocks;
  std::vector<LocalArray> inputs;
  std::size_t leader = request.operands.size();
  for (std::size_t i = 0; i < request.operands.size(); ++i) {
    const auto* x = request.operands[i].array();
    blocks.push_back(x != nullptr ? &ready_shards(*x) : nullptr);
    inputs.push_back(x != nullptr ? LocalArray{} : literal_block(request, request.operands[i]));
    if (x != nullptr && leader == request.operands.size()) leader = i;
  }
  std::vector<LocalShard> shards;
  run_local_part(request.operation, [&] {
    for (std::size_t device = 0; device < blocks[leader]->size(); ++device) {
      const auto position = (*blocks[leader])[device].position;
      const auto box = sharding.index_at(request.shape, position);
      std::vector<Index> boxes(request.operands.size(), box);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (blocks[i] != nullptr) inputs[i] = (*blocks[i])[device].data;
        else boxes[i] = Index{};
      }
      shards.push_back({position, request.kernel(inputs, {box, boxes})});
    }
  });
  return make_sharded_array(request.shape, request.dtype, sharding, true, std::move(shards));
}

/// One device's blocks of every operand, and where they lie.
struct Inputs {
  std::vector<LocalArray> blocks;
  std::vector<Index> boxes;
};

class Execution {
 public:
  Execution(const Request& request, const Negotiated& negotiated)
      : request_(request),
        negotiated_(negotiated),
        form_(local_form(*negotiated.mesh, request.rule, request.attributes, negotiated.types, request.shape, negotiated.result->spec())),
        computed_(negotiated.on_mesh(form_.computed, *negotiated.result)),
        positions_(local_positions(negotiated.mesh->devices())) {}

  Array run() {
    gather_operands();
    std::vector<LocalShard> shards;
    run_local_part(request_.operation, [&] { shards = compute(); });
    if (request_.reduction) finish(shards);
    if (computed_.is_equivalent_to(*negotiated_.result, request_.shape.ndim()))
      return make_sharded_array(request_.shape, request_.dtype, *negotiated_.result, true, std::move(shards));
    auto moved = run_reshard(shards, computed_, *negotiated_.result, request_.shape, request_.dtype, negotiated_.ticket);
    return make_sharded_array(request_.shape, request_.dtype, *negotiated_.result, true, std::move(moved.shards), std::move(moved.transfer));
  }

 private:
  void gather_operands() {
    for (std::size_t i = 0; i < request_.operands.size(); ++i) {
      const auto* x = request_.operands[i].array();
      if (x == nullptr) {
        placements_.emplace_back();
        blocks_.emplace_back();
        continue;
      }
      placements_.push_back(negotiated_.on_mesh(form_.operands[i], x->sharding()));
      const auto& want = *placements_.back();
      const bool here = x->committed() && (x->sharding() == want || x->sharding().is_equivalent_to(want, x->ndim()));
      blocks_.push_back(here ? ready_shards(*x) : bring(*x, want, negotiated_.ticket));
    }
  }

  Inputs inputs_at(std::size_t device) const {
    Inputs in;
    for (std::size_t i = 0; i < request_.operands.size(); ++i) {
      if (const auto* x = request_.operands[i].array()) {
        in.blocks.push_back(blocks_[i][device].data);
        in.boxes.push_back(placements_[i]->index_at(x->shape(), positions_[device]));
      } else {
        in.blocks.push_back(literal_block(request_, request_.operands[i]));
        in.boxes.emplace_back();
      }
    }
    return in;
  }

  std::vector<LocalShard> compute() const {
    std::vector<LocalShard> shards;
    std::vector<std::pair<Index, std::vector<Index>>> seen;
    for (std::size_t device = 0; device < positions_.size(); ++device) {
      const auto in = inputs_at(device);
      const auto box = computed_.index_at(request_.shape, positions_[device]);
      // Replicas of one process share a block. Partial results don't: they are combined in place.
      const auto twin = request_.reduction ? seen.end() : std::find(seen.begin(), seen.end(), std::pair(box, in.boxes));
      if (twin != seen.end()) {
        shards.push_back({positions_[device], shards[static_cast<std::size_t>(twin - seen.begin())].data});
        seen.push_back(*twin);
        continue;
      }
      if (positions_.size() > 1) seen.emplace_back(box, in.boxes);
      shards.push_back({positions_[device], request_.kernel(in.blocks, {box, in.boxes})});
    }
    return shards;
  }

  void finish(std::vector<LocalShard>& shards) {
    combine_groups(shards);
    if (request_.reduction->finish)
      run_local_part(request_.operation, [&] {
        for (auto& shard : shards) shard.data = request_.reduction->finish(shard.data);
      });
  }

  /// Devices that hold partials of one result box combine them; groups in the order of their first position, so that ranks in several agree.
  void combine_groups(std::vector<LocalShard>& shards) {
    AxisSplit partial = partial_digits();
    if (partial.parts == 1 || shards.empty()) return;
    describe(negotiated_.ticket, to_string(*negotiated_.mesh));
    std::vector<bool> done(shards.size(), false);
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t i = 0; i < shards.size(); ++i) order.emplace_back(first_of_group(partial, shards[i].position), i);
    std::sort(order.begin(), order.end());
    for (const auto& [first, i] : order) {
      if (done[i]) continue;
      std::vector<Device> group;
      std::vector<LocalPart> mine;
      for (std::int64_t member = 0; member < partial.parts; ++member) {
        const auto position = first + offset_of(partial, member);
        group.push_back(negotiated_.mesh->devices()[position]);
        for (std::size_t s = 0; s < shards.size(); ++s)
          if (shards[s].position == position) {
            mine.push_back({shards[s].data.data(), shards[s].data.block().get()});
            done[s] = true;
          }
      }
      const auto& block = shards[i].data;
      const auto size = request_.reduction->itemsize != 0 ? request_.reduction->itemsize : itemsize(block.dtype());
      if (block.size() == 0) continue;
      all_reduce(group, mine, block.nbytes() / static_cast<std::int64_t>(size), size, request_.reduction->combine, negotiated_.ticket);
    }
  }

  AxisSplit partial_digits() const {
    AxisSplit out;
    for (auto axis = form_.partial_axes.rbegin(); axis != form_.partial_axes.rend(); ++axis) {
      const auto at = *negotiated_.mesh->find_axis(*axis);
      const auto size = negotiated_.mesh->axis_sizes()[at];
      out.digits.push_back({negotiated_.mesh->strides()[at], size, out.parts});
      out.parts *= size;
    }
    return out;
  }

  static std::int64_t offset_of(const AxisSplit& split, std::int64_t member) {
    std::int64_t offset = 0;
    for (const auto& d : split.digits) offset += member / d.weight % d.size * d.stride;
    return offset;
  }

  static std::int64_t first_of_group(const AxisSplit& split, std::int64_t position) {
    for (const auto& d : split.digits) position -= position / d.stride % d.size * d.stride;
    return position;
  }

  const Request& request_;
  const Negotiated& negotiated_;
  LocalForm form_;
  Sharding computed_;
  std::vector<std::int64_t> positions_;
  std::vector<std::optional<Sharding>> placements_{};
  std::vector<std::vector<LocalShard>> blocks_{};
};

}  // namespace

Array dispatch(const Request& request) {
  const auto negotiated = negotiate(request);
  if (!negotiated.result) {
    if (request.as_recipe && all_recipes(request)) return make_recipe_array(request.as_recipe(request.operands[0].array()->state()->recipe));
    Array result;
    run_local_part(request.operation, [&] { result = compute_everywhere(request); });
    return result;
  }
  if (negotiated.aligned) return compute_aligned(request, *negotiated.result);
  return Execution(request, negotiated).run();
}

}  // namespace meshwise::detail

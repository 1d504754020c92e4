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

/// A literal that does not fit is everybody's error; what follows may be one rank's.
void check_literals(const Request& request) {
  alignas(16) std::byte value[16];
  for (const auto& operand : request.operands)
    if (operand.array() == nullptr) operand.scalar()->store(request.literal_dtype, value);
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

class Execution {
 public:
  Execution(const Request& request, const Negotiated& negotiated)
      : request_(request), layout_(*negotiated.layout), how_(*layout_.computation), ticket_(negotiated.ticket) {}

  Array run() {
    gather_operands();
    auto shards = compute();
    if (request_.reduction) finish(shards);
    if (how_.in_place) return make_sharded_array(request_.shape, request_.dtype, layout_.result, true, std::move(shards));
    auto moved = run_reshard(shards, how_.computed, layout_.result, request_.shape, request_.dtype, ticket_);
    return make_sharded_array(request_.shape, request_.dtype, layout_.result, true, std::move(moved.shards), std::move(moved.transfer));
  }

 private:
  void gather_operands() {
    const auto count = request_.operands.size();
    blocks_.resize(count);
    brought_.resize(count);
    inputs_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto* x = request_.operands[i].array();
      if (x == nullptr) {
        inputs_[i] = literal_block(request_, request_.operands[i]);
        continue;
      }
      const auto& want = *how_.operands[i];
      const bool here = x->committed() && (x->sharding() == want || x->sharding().is_equivalent_to(want, x->ndim()));
      if (!here) brought_[i] = bring(*x, want, ticket_);
      blocks_[i] = here ? &ready_shards(*x) : &brought_[i];
    }
  }

  std::vector<LocalShard> compute() {
    std::vector<LocalShard> shards;
    shards.reserve(how_.devices.size());
    for (std::size_t device = 0; device < how_.devices.size(); ++device) {
      const auto& on = how_.devices[device];
      // Replicas of one process share a block. Partial results don't: they are combined in place.
      if (on.twin != device && (!request_.reduction || (how_.partial.parts == 1 && !request_.reduction->finish))) {
        shards.push_back({on.position, shards[on.twin].data});
        continue;
      }
      for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (blocks_[i] != nullptr) inputs_[i] = (*blocks_[i])[device].data;
      shards.push_back({on.position, request_.kernel(inputs_, {on.result_box, on.operand_boxes})});
    }
    return shards;
  }

  void finish(std::vector<LocalShard>& shards) {
    combine_groups(shards);
    if (request_.reduction->finish)
      for (auto& shard : shards) shard.data = request_.reduction->finish(shard.data);
  }

  /// Devices that hold partials of one result box combine them; groups in the order of their first position, so that ranks in several agree.
  void combine_groups(std::vector<LocalShard>& shards) {
    const auto& partial = how_.partial;
    if (partial.parts == 1 || shards.empty()) return;
    describe(ticket_, layout_.words);
    std::vector<bool> done(shards.size(), false);
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t i = 0; i < shards.size(); ++i) order.emplace_back(partial.first_of(shards[i].position), i);
    std::sort(order.begin(), order.end());
    for (const auto& [first, i] : order) {
      if (done[i]) continue;
      std::vector<Device> group;
      std::vector<LocalPart> mine;
      for (std::int64_t member = 0; member < partial.parts; ++member) {
        const auto position = first + partial.offset_of(member);
        group.push_back(layout_.mesh.devices()[position]);
        for (std::size_t s = 0; s < shards.size(); ++s)
          if (shards[s].position == position) {
            mine.push_back({shards[s].data.data(), shards[s].data.block().get()});
            done[s] = true;
          }
      }
      const auto& block = shards[i].data;
      const auto size = request_.reduction->itemsize != 0 ? request_.reduction->itemsize : itemsize(block.dtype());
      if (block.size() == 0) continue;
      const auto shape = block.shape();
      const auto dtype = block.dtype();
      // One block for all, where the ranks of a node share it.
      if (const auto shared = all_reduce(group, mine, block.nbytes() / static_cast<std::int64_t>(size), size, request_.reduction->combine, ticket_))
        for (auto& shard : shards)
          if (partial.first_of(shard.position) == first) shard.data = LocalArray(shape, dtype, shared, 0, row_major_strides(shape));
    }
  }

  const Request& request_;
  const Layout& layout_;
  const Computation& how_;
  const Ticket& ticket_;
  std::vector<const std::vector<LocalShard>*> blocks_{};  // of each operand; null for a literal
  std::vector<std::vector<LocalShard>> brought_{};        // those that lay elsewhere
  std::vector<LocalArray> inputs_{};                      // of the device at work
};

}  // namespace

Array dispatch(const Request& request) {
  const auto negotiated = negotiate(request);
  check_literals(request);
  if (negotiated.layout == nullptr) {
    if (request.as_recipe && all_recipes(request)) return make_recipe_array(request.as_recipe(request.operands[0].array()->state()->recipe));
    Array result;
    run_local_part(request.operation, [&] { result = compute_everywhere(request); });
    return result;
  }
  // From here on all that can go wrong is this rank's alone: the rules have been applied.
  Array result;
  run_local_part(request.operation, [&] { result = Execution(request, negotiated).run(); });
  return result;
}

}  // namespace meshwise::detail

#include "array/execution.hpp"

#include <algorithm>

#include "array/combine.hpp"
#include "array/panels.hpp"
#include "base/boxes.hpp"
#include "meshwise/runtime/watch.hpp"

namespace meshwise::detail {

namespace {

class Execution {
 public:
  Execution(const Request& request, const Negotiated& negotiated)
      : request_(request),
        layout_(*negotiated.layout),
        how_(*layout_.computation),
        ticket_(negotiated.ticket),
        operands_(request, how_, ticket_),
        in_panels_(how_.panels.count > 1) {}

  Array run() {
    if (in_panels_ && how_.panels.result_axis >= 0) return by_parts_of_the_result();
    auto shards = in_panels_ ? add_up() : compute(0);
    if (request_.reduction) finish(shards, end(how_.computed), end(how_.combined));
    if (how_.in_place) return make_sharded_array(request_.shape, request_.dtype, layout_.result, true, std::move(shards));
    auto moved = run_reshard(shards, how_.combined, layout_.result, request_.shape, request_.dtype, ticket_);
    return make_sharded_array(request_.shape, request_.dtype, layout_.result, true, std::move(moved.shards), std::move(moved.transfer));
  }

 private:
  End end(const Sharding& sharding, std::optional<Panel> panel = {}) const {
    End out{.sharding = sharding, .shape = request_.shape};
    out.panel = panel;
    return out;
  }

  /// Waits for a panel of the operands, with the next one on its way.
  void fetch(std::int64_t number) {
    if (number == 0) operands_.begin(0);
    operands_.wait(number);
    if (number + 1 < how_.panels.count) operands_.begin(number + 1);
  }

  /// The panel's outcome on every device of this rank.
  std::vector<LocalShard> compute(std::int64_t number) {
    fetch(number);
    std::vector<LocalShard> shards;
    shards.reserve(how_.devices.size());
    for (std::size_t device = 0; device < how_.devices.size(); ++device) {
      const auto& on = how_.devices[device];
      // Replicas of one process share a block. Partial results don't: they are combined in place.
      const bool is_partial = request_.reduction && (how_.scattered.parts * how_.summed.parts > 1 || request_.reduction->finish);
      if (on.twin != device && !is_partial) {
        shards.push_back({on.position, shards[on.twin].data});
        continue;
      }
      operands_.take(number, device, inputs_);
      shards.push_back({on.position, request_.kernel(inputs_, {on.result_box, on.operand_boxes})});
    }
    return shards;
  }

  /// Panels of a contracted letter: one product after the other is added.
  std::vector<LocalShard> add_up() {
    auto shards = compute(0);
    for (std::int64_t number = 1; number < how_.panels.count; ++number) {
      fetch(number);
      for (std::size_t device = 0; device < shards.size(); ++device) {
        const auto twin = how_.devices[device].twin;
        if (twin != device && shards[twin].data.data() == shards[device].data.data()) continue;
        operands_.take(number, device, inputs_);
        request_.accumulate(inputs_, shards[device].data);
      }
    }
    return shards;
  }

  /// Panels of the result: each is combined, and takes its place, before the next is computed.
  Array by_parts_of_the_result() {
    const auto target = end(layout_.result);
    std::vector<LocalShard> result;
    std::vector<Index> boxes;
    for (const auto& on : how_.devices) {
      boxes.push_back(target.box_at(on.position));
      const auto twin = std::find(boxes.begin(), boxes.end(), boxes.back()) - boxes.begin();
      result.push_back({on.position, twin + 1 < std::ssize(boxes) ? result[static_cast<std::size_t>(twin)].data
                                                                  : LocalArray(boxes.back().shape(), request_.dtype)});
    }
    for (std::int64_t number = 0; number < how_.panels.count; ++number) {
      const Panel panel{how_.panels.result_axis, number, how_.panels.count, how_.panels.across};
      auto shards = compute(number);
      finish(shards, end(how_.computed, panel), end(how_.combined, panel));
      place(shards, end(how_.combined, panel), end(layout_.result, panel), result);
    }
    return make_sharded_array(request_.shape, request_.dtype, layout_.result, true, std::move(result));
  }

  void place(std::vector<LocalShard>& shards, const End& from, const End& to, std::vector<LocalShard>& result) const {
    if (!how_.in_place) {
      const MoveJob job{{from, to, request_.shape}, shards};
      auto moved = run_moves({&job, 1}, to, request_.dtype, ticket_);
      settle(moved.shards, moved.transfer);
      shards = std::move(moved.shards);
    }
    const auto whole = end(layout_.result);
    for (std::size_t device = 0; device < shards.size(); ++device) {
      const auto position = result[device].position;
      copy_values(shards[device].data, result[device].data.box(relative(to.box_at(position), whole.box_at(position))));
    }
  }

  void finish(std::vector<LocalShard>& shards, const End& from, const End& to) const {
    if (how_.scattered.parts * how_.summed.parts > 1) {
      describe(ticket_, layout_.words);
      combine_shards(shards, how_, from, to, *request_.reduction, ticket_);
    }
    if (request_.reduction->finish)
      for (auto& shard : shards) shard.data = request_.reduction->finish(shard.data);
  }

  const Request& request_;
  const Layout& layout_;
  const Computation& how_;
  const Ticket& ticket_;
  OperandBlocks operands_;
  bool in_panels_;
  std::vector<LocalArray> inputs_{};  // of the device at work
};

}  // namespace

Array execute(const Request& request, const Negotiated& negotiated) {
  Array result;
  run_local_part(request.operation, [&] { result = Execution(request, negotiated).run(); });
  return result;
}

}  // namespace meshwise::detail

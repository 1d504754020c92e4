#include "array/panels.hpp"

#include "array/move_plan.hpp"
#include "array/run.hpp"

namespace meshwise::detail {

OperandBlocks::OperandBlocks(const Request& request, const Computation& how, const Ticket& ticket) : how_(how), ticket_(ticket) {
  operands_.resize(request.operands.size());
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    auto& operand = operands_[i];
    operand.array = request.operands[i].array();
    if (operand.array == nullptr) {
      operand.literal = LocalArray(Shape{}, request.literal_dtype);
      request.operands[i].scalar()->store(request.literal_dtype, operand.literal.data());
      continue;
    }
    const auto& x = *operand.array;
    const auto& want = *how.operands[i];
    if (how.panels.count > 1) operand.axis = how.panel_axes[i];
    if (i < how.windows.size() && how.windows[i]) {
      for (const auto& shard : ready_shards(x)) {
        const auto held = x.sharding().index_at(x.shape(), shard.position);
        auto box = want.index_at(x.shape(), shard.position);
        for (std::int64_t d = 0; d < box.ndim(); ++d) box[d] = {box[d].start - held[d].start, box[d].stop - held[d].start};
        operand.made.push_back({shard.position, shard.data.box(box)});
      }
      operand.here = &operand.made;
    } else if (x.committed() && (x.sharding() == want || x.sharding().is_equivalent_to(want, x.ndim()))) {
      operand.here = &ready_shards(x);
    } else if (operand.axis < 0 || !x.committed()) {
      operand.made = bring(x, want, ticket);
      operand.here = &operand.made;
    }
  }
}

void OperandBlocks::begin(std::int64_t number) {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    auto& operand = operands_[i];
    if (operand.array == nullptr || operand.here != nullptr) continue;
    const auto& x = *operand.array;
    MoveJob job{Movement::reshard(x.sharding(), *how_.operands[i], x.shape()), ready_shards(x)};
    job.movement.target.panel = Panel{operand.axis, number, how_.panels.count};
    operand.panels[static_cast<std::size_t>(number % 2)] = run_moves({&job, 1}, job.movement.target, x.dtype(), ticket_);
  }
}

void OperandBlocks::wait(std::int64_t number) {
  for (auto& operand : operands_) {
    if (operand.array == nullptr || operand.here != nullptr) continue;
    auto& moved = operand.panels[static_cast<std::size_t>(number % 2)];
    settle(moved.shards, moved.transfer);
  }
}

void OperandBlocks::take(std::int64_t number, std::size_t device, std::vector<LocalArray>& inputs) {
  inputs.resize(operands_.size());
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const auto& operand = operands_[i];
    if (operand.array == nullptr) {
      inputs[i] = operand.literal;
    } else if (operand.here == nullptr) {
      inputs[i] = operand.panels[static_cast<std::size_t>(number % 2)].shards[device].data;
    } else {
      inputs[i] = (*operand.here)[device].data;
      if (operand.axis < 0) continue;
      auto box = Index::whole(inputs[i].shape());
      box[operand.axis] = part(number, how_.panels.count, box[operand.axis].size());
      inputs[i] = inputs[i].box(box);
    }
  }
}

}  // namespace meshwise::detail

#include "array/panels.hpp"

#include "array/place.hpp"

namespace meshwise::detail {

LocalArray literal_block(const Request& request, const Operand& operand) {
  LocalArray out(Shape{}, request.literal_dtype);
  operand.scalar()->store(request.literal_dtype, out.data());
  return out;
}

OperandBlocks::OperandBlocks(const Request& request, const Computation& how, const Ticket& ticket) : how_(how), ticket_(ticket) {
  operands_.resize(request.operands.size());
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    auto& operand = operands_[i];
    operand.array = request.operands[i].array();
    if (operand.array == nullptr) {
      operand.literal = literal_block(request, request.operands[i]);
      continue;
    }
    const auto& x = *operand.array;
    const auto& want = *how.operands[i];
    if (how.panels.count > 1) operand.axis = how.panels.operand_axes[i];
    if (i < how.windows.size() && how.windows[i]) {
      operand.made = own_windows(x, want);
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

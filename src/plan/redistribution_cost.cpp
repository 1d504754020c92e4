// What a plan costs, from its pieces.
#include <algorithm>
#include <utility>
#include <vector>

#include "meshwise/plan/redistribution.hpp"
#include "plan/redistribution_planner.hpp"

namespace meshwise {

namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;  // source rank, target rank

void add(PlanCost& cost, const Piece& piece, std::int64_t itemsize) {
  const auto bytes = piece.box.num_elements() * itemsize;
  switch (piece.action) {
    case Action::alias:
    case Action::hand_over:
      cost.bytes_kept += bytes;
      break;
    case Action::copy:
      cost.bytes_copied += bytes;
      break;
    case Action::send:
      cost.bytes_sent += bytes;
      break;
  }
}

std::int64_t distinct(std::vector<Pair>& pairs) {
  std::sort(pairs.begin(), pairs.end());
  return std::unique(pairs.begin(), pairs.end()) - pairs.begin();
}

}  // namespace

PlanCost cost_of(const DevicePlan& plan, std::size_t itemsize) {
  PlanCost cost;
  std::vector<Pair> pairs;
  for (const auto& piece : plan.receives)
    if (piece.action != Action::send) add(cost, piece, static_cast<std::int64_t>(itemsize));
  for (const auto& piece : plan.sends)
    if (piece.action == Action::send) {
      add(cost, piece, static_cast<std::int64_t>(itemsize));
      pairs.emplace_back(piece.source.rank, piece.target.rank);
    }
  cost.messages = distinct(pairs);
  return cost;
}

PlanCost total_cost(const Movement& movement, const Topology& topology, std::size_t itemsize) {
  const detail::Planner planner(movement, topology);
  const auto size = static_cast<std::int64_t>(itemsize);
  PlanCost cost;
  std::vector<Pair> pairs;
  // Every piece is in exactly one list of receives.
  for (const auto device : movement.target.sharding.devices()) {
    for (const auto& piece : planner.receives(device)) {
      add(cost, piece, size);
      if (piece.action == Action::send) pairs.emplace_back(piece.source.rank, piece.target.rank);
    }
    cost.bytes_lower_bound += planner.unavoidable_elements(device) * size;
  }
  cost.messages = distinct(pairs);
  return cost;
}

std::int64_t elements_brought(const Shape& shape, const Sharding& from, const Sharding& to) {
  std::int64_t brought = 0;
  for (std::int64_t position = 0; position < to.devices().size(); ++position) {
    const auto want = to.index_at(shape, position);
    const auto own = from.devices().position_of(to.devices().id(position));
    std::int64_t held = own ? 1 : 0;
    if (own) {
      const auto have = from.index_at(shape, *own);
      for (std::int64_t d = 0; d < shape.ndim(); ++d) held *= std::max<std::int64_t>(intersect(want[d], have[d]).size(), 0);
    }
    brought += want.num_elements() - held;
  }
  return brought;
}

}  // namespace meshwise

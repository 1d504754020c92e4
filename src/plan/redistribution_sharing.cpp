// Whole boxes: where a block can be shared, nothing is copied. Devices of one process (of one node, where it shares memory) that want the
// same box get one block. If one of that process or node had exactly this box before, all take its old block; else the first of them in the
// target's list receives the box for all. That one reads as if it were alone: pieces that its process has are copied, never sent.
#include "plan/redistribution_planner.hpp"

namespace meshwise::detail {

Nearby Planner::process(const Device& device) const {
  return Range{device.rank * devices_per_rank_, (device.rank + 1) * devices_per_rank_};
}

Nearby Planner::node(const Device& device) const { return topology_.node(device.rank, devices_per_rank_); }

Nearby Planner::sharers(const Device& device) const { return topology_.node_shares_memory ? node(device) : process(device); }

/// The two boxes are the same elements in the same order, so one block can be both.
bool Planner::is_exact(const Overlap& overlap) const {
  const auto elements = overlap.box.num_elements();
  if (target_.elements(overlap.target_box) != elements || source_.elements(overlap.source_box) != elements) return false;
  const auto view = [](const End& end, std::int64_t d) {
    return end.views.empty() ? AxisView{.axis = d} : end.views[static_cast<std::size_t>(d)];
  };
  const auto &from = movement_.source, &to = movement_.target;
  for (std::int64_t d = 0; d < overlap.box.ndim(); ++d) {
    if (overlap.box[d].size() == 1) continue;  // its step, and its place among the axes, say nothing about memory
    if (view(from, d).step != view(to, d).step) return false;
    for (std::int64_t e = 0; e < d; ++e)
      if (overlap.box[e].size() > 1 && (view(from, e).axis < view(from, d).axis) != (view(to, e).axis < view(to, d).axis)) return false;
  }
  return true;
}

/// The device whose old block the reader can take as its new one: itself, one of its process, one it shares memory with.
std::optional<std::int64_t> Planner::exact_holder(const Overlap& overlap, const Device& reader) const {
  if (!source_.first_within(overlap.source_box, sharers(reader)) || !is_exact(overlap)) return std::nullopt;
  if (const auto own = source_.find(reader.id); own && source_.box_of(*own) == overlap.source_box) return own;
  if (const auto near = source_.first_within(overlap.source_box, process(reader))) return near;
  return source_.first_within(overlap.source_box, sharers(reader));
}

/// Of the devices that want one box and can share its block, the first in the list gets it.
bool Planner::receives_for_sharers(std::int64_t target_box, std::int64_t reader) const {
  return target_.first_within(target_box, sharers(target_.devices()[reader])) == reader;
}

/// The blocks of this device that other processes of the node take as they are: its old one, and the new one it receives for them.
void Planner::lend(const Device& device, std::vector<Piece>& pieces) const {
  std::vector<std::int64_t> boxes;  // of the target
  if (const auto position = source_.find(device.id); position && source_.first_within(source_.box_of(*position), node(device)) == position)
    if (const auto all = readers_of(*position); all.count > 0)
      // Any reader will do: a box that overlaps several is not exactly one.
      if (const auto overlap = overlap_of(all, reader(all, 0)); overlap && is_exact(*overlap)) boxes.push_back(overlap->target_box);
  if (const auto position = target_.find(device.id); position && receives_for_sharers(target_.box_of(*position), *position))
    if (boxes.empty() || boxes.front() != target_.box_of(*position)) boxes.push_back(target_.box_of(*position));
  for (const auto box : boxes)
    for (const auto reader : target_.within(box, node(device))) {
      const auto taker = target_.devices()[reader];
      if (taker.rank == device.rank) continue;
      for (auto& piece : receives(taker))
        if (piece.source == device && piece.action == Action::hand_over) pieces.push_back(std::move(piece));
    }
}

std::int64_t Planner::unavoidable_elements(const Device& device) const {
  const auto position = target_.find(device.id);
  if (!position) return 0;
  const auto found = overlaps_of(*position);
  if (found.empty() || !receives_for_sharers(found.front().target_box, *position)) return 0;
  std::int64_t elements = 0;
  for (const auto& o : found)
    if (!source_.first_within(o.source_box, sharers(device))) elements += o.box.num_elements();
  return elements;
}

}  // namespace meshwise::detail

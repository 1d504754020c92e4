// The cost of a rank that has thousands of pieces, without looking at any. Every reader takes a piece from the nearest holder, so what comes
// from its own process and its node is known from the few devices there, and the rest of its box comes from afar. What a holder sends is the
// same seen from the other end: its box, once for every copy of the target, less what its own node's readers take, divided among its holders.
#include <algorithm>
#include <cmath>
#include <vector>

#include "plan/cost_rank.hpp"

namespace meshwise::detail {

namespace {

constexpr std::int64_t few_pieces = 32;

Range range_of(const CutAxis& axis, std::int64_t position) { return axis.coordinates(axis.split->part_at(position)); }

/// Parts of `cut` that have something of a range; of more parts than elements the others are empty.
std::int64_t parts_met(Range range, const CutAxis& cut) {
  if (range.empty()) return 0;
  return cut.split->parts > cut.extent ? range.size() : cut.part_at(range.stop - 1) - cut.part_at(range.start) + 1;
}

/// How many boxes of the other end that position's box meets, and how many elements it has.
struct Met {
  std::int64_t boxes = 1, elements = 1;
};
Met met(const Holders& one, std::int64_t position, const Holders& other) {
  Met found;
  for (std::size_t d = 0; d < one.axes().size(); ++d) {
    const auto range = range_of(one.axes()[d], position);
    found.boxes *= parts_met(range, other.axes()[d]);
    found.elements *= range.size();
  }
  return found;
}

std::int64_t rounded(double value) { return std::max<std::int64_t>(0, std::llround(value)); }

/// One position for each box.
void keep_first_of_each(std::vector<std::int64_t>& positions, const Holders& holders) {
  std::sort(positions.begin(), positions.end(),
            [&](auto a, auto b) { return std::pair(holders.box_of(a), a) < std::pair(holders.box_of(b), b); });
  const auto same = [&](auto a, auto b) { return holders.box_of(a) == holders.box_of(b); };
  positions.erase(std::unique(positions.begin(), positions.end(), same), positions.end());
}

}  // namespace

RankCounter::Near RankCounter::near(const Nearby& devices) const {
  Near found;
  for (std::int64_t k = 0; k < devices.size(); ++k) {
    if (const auto position = source_.find(devices[k])) found.holders.push_back(*position);
    if (const auto position = target_.find(devices[k])) found.readers.push_back(*position);
  }
  return found;
}

RankCounter::Alike RankCounter::alike_on_node(std::int64_t rank) const {
  const bool shares = topology_.node_shares_memory;
  const auto own = near(Range{rank * devices_per_rank_, (rank + 1) * devices_per_rank_});
  auto holders = source_.devices().size(), readers = target_.devices().size() / (shares ? target_.copies().parts : 1);
  if (topology_.ranks_per_node > 0) {
    auto all = near(node_of(rank));
    if (shares) keep_first_of_each(all.readers, target_);
    holders = static_cast<std::int64_t>(all.holders.size());
    readers = static_cast<std::int64_t>(all.readers.size());
  }
  const auto times = [](std::int64_t node, std::size_t mine) {
    return mine == 0 ? 1 : std::max<std::int64_t>(1, node / static_cast<std::int64_t>(mine));
  };
  return {times(holders, own.holders.size()), times(readers, own.readers.size())};
}

std::int64_t RankCounter::bytes_met(std::int64_t holder, std::int64_t reader) const {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < source_.axes().size(); ++d)
    elements *= intersect(range_of(source_.axes()[d], holder), range_of(target_.axes()[d], reader)).size();
  return elements * itemsize_;
}

LinkUse RankCost::*RankCounter::way_off_node() const {
  if (topology_.ranks_per_node > 0) return &RankCost::network;
  return topology_.node_shares_memory ? &RankCost::memory : &RankCost::node;
}

void RankCounter::reckon_receives(RankCost& cost, std::int64_t reader, const Near& near_by) const {
  const auto all = met(target_, reader, source_);
  const auto device = target_.devices()[reader];
  const auto sharers = topology_.node_shares_memory ? node_of(device.rank) : Nearby(Range{device.id, device.id + 1});
  auto far = LinkUse{.bytes_in = all.elements * itemsize_, .messages_in = all.boxes};
  if (far.bytes_in == 0) return;
  if (target_.first_within(target_.box_of(reader), sharers) != reader) {
    cost.bytes_kept += far.bytes_in;
    return;
  }
  const auto own = source_.find(device.id);
  auto holders = near_by.holders;
  if (own)  // its own copy comes before others'
    std::erase_if(holders, [&](auto h) { return h != *own && source_.box_of(h) == source_.box_of(*own); });
  keep_first_of_each(holders, source_);
  for (const auto holder : holders) {
    const auto bytes = bytes_met(holder, reader);
    if (bytes == 0) continue;
    auto& use = cost.*way(source_.devices()[holder].rank, device.rank);
    use.bytes_in += bytes;
    use.messages_in += 1;
    far.bytes_in -= bytes;
    far.messages_in -= 1;
    if (holder != own && !topology_.node_shares_memory) cost.bytes_lower_bound += bytes;
  }
  auto& use = cost.*way_off_node();
  use.bytes_in += far.bytes_in;
  use.messages_in += far.messages_in;
  if (&use != &cost.memory) cost.bytes_lower_bound += far.bytes_in;
}

/// Of the copies of a target box, how many are received: one on each node, where nodes share memory.
double RankCounter::copies_that_receive(std::int64_t holder) const {
  const auto copies = static_cast<double>(target_.copies().parts);
  if (!topology_.node_shares_memory || target_.copies().parts == 1) return copies;
  if (topology_.ranks_per_node <= 0) return 1;
  auto box = target_.first_box();  // one that the holder's box meets
  for (std::size_t d = 0; d < source_.axes().size(); ++d)
    box += target_.axes()[d].offset(target_.axes()[d].part_at(range_of(source_.axes()[d], holder).start));
  return copies / static_cast<double>(target_.within(box, node_of(target_.devices()[box].rank)).size());
}

void RankCounter::reckon_sends(RankCost& cost, std::int64_t holder, const Near& near_by) const {
  const auto all = met(source_, holder, target_);
  if (all.elements == 0) return;
  const auto box = source_.box_of(holder);
  const auto bytes = all.elements * itemsize_;
  auto readers = near_by.readers;
  if (topology_.node_shares_memory) keep_first_of_each(readers, target_);
  const auto sharing =
      static_cast<double>(std::count_if(near_by.holders.begin(), near_by.holders.end(), [&](auto h) { return source_.box_of(h) == box; }));
  LinkUse near_all, near_others;  // what readers on the node take of this box; those of them who must be given it
  for (const auto reader : readers) {
    const auto taken = bytes_met(holder, reader);
    if (taken == 0) continue;
    near_all.bytes_out += taken;
    near_all.messages_out += 1;
    const auto own = source_.find(target_.devices().id(reader));
    const bool has_it = own && source_.box_of(*own) == box;
    const bool whole = topology_.node_shares_memory && taken == bytes && taken == target_.elements(target_.box_of(reader)) * itemsize_;
    if (has_it || whole) continue;
    near_others.bytes_out += taken;
    near_others.messages_out += 1;
  }
  const auto copies = copies_that_receive(holder), holders = static_cast<double>(source_.copies().parts);
  const auto far = [&](std::int64_t once, std::int64_t on_node) {
    return rounded(static_cast<double>(once) * copies / holders - static_cast<double>(on_node) / sharing);
  };
  auto& on_node = topology_.node_shares_memory ? cost.memory : cost.node;
  on_node.bytes_out += rounded(static_cast<double>(near_others.bytes_out) / sharing);
  on_node.messages_out += rounded(static_cast<double>(near_others.messages_out) / sharing);
  auto& use = cost.*way_off_node();
  use.bytes_out += far(bytes, near_all.bytes_out);
  use.messages_out += far(all.boxes, near_all.messages_out);
}

RankCost RankCounter::reckoned(std::int64_t rank) const {
  const auto reader = target_.find(rank), holder = source_.find(rank);
  const auto in = reader ? met(target_, *reader, source_).boxes : 0;
  const auto out = holder ? met(source_, *holder, target_).boxes * target_.copies().parts / source_.copies().parts : 0;
  if (devices_per_rank_ > 1 || (in <= few_pieces && out <= few_pieces)) return counted(rank);
  RankCost cost;
  cost.rank = rank;
  const auto ids = topology_.ranks_per_node > 0 ? node_of(rank) : Nearby(Range{rank, rank + 1});  // where the node is everything, itself
  const auto near_by = near(ids);
  if (reader) reckon_receives(cost, *reader, near_by);
  if (holder) reckon_sends(cost, *holder, near_by);
  add_memory(cost);
  return cost;
}

}  // namespace meshwise::detail

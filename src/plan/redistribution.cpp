// The idea. Each end cuts every axis of the array in parts, and a device's box is a product of parts, one an axis. So two boxes overlap
// where their parts overlap, axis by axis, and the parts of one end that a part of the other overlaps are found by division:
//
//   rows of float32[8] in 2 parts:   |  0  1  2  3  |  4  5  6  7  |
//   the same rows in 3 parts:        | 0  1 | 2  3  4  |  5  6  7  |      part 1 of 3 overlaps parts 0 and 1 of 2
//
// A worked example. float32[4,6] on a (2,2) mesh, device 2i+j at (x=i, y=j), from P('x') to P(None, 'y'):
//
//            before: rows by x, a copy for each y             after: columns by y, a copy for each x
//   x=0      0 1 hold rows 0:2                                 0 2 hold columns 0:3
//   x=1      2 3 hold rows 2:4                                 1 3 hold columns 3:6
//
// Device 1 wants [0:4, 3:6]. Rows 0:4 overlap the source parts 0:2 and 2:4, columns 3:6 the one source part 0:6. The product is its list:
//   [0:2, 3:6]  held by 0 and 1: it has it itself, a copy;
//   [2:4, 3:6]  held by 2 and 3: one of them sends. Devices 0 and 1 both ask for a piece of that box, and take turns: 0 asks 2, 1 asks 3.
// A sender goes the other way: device 3 holds [2:4, 0:6], and finds on each axis the target parts that overlap it; their product is
// the target boxes, and each has its readers, of which those are served whose turn is 3's. Both ends compute the same formula from
// metadata alone, so each knows the other's list without a word said; and as every step is division, the number of devices costs nothing.
//
// Words: a *holder* is a device of the source, by its position in the source's list; a *reader* one of the target. A box is numbered by
// its first holder or reader (redistribution_holders.hpp). Whole boxes that need not be copied: redistribution_sharing.cpp.
#include "meshwise/plan/redistribution.hpp"

#include <algorithm>
#include <utility>

#include "plan/redistribution_planner.hpp"

namespace meshwise {

DevicePlan plan_device(const Movement& movement, const Topology& topology, const Device& device) {
  const detail::Planner planner(movement, topology);
  return {device, planner.receives(device), planner.sends(device)};
}

bool piece_order(const Piece& a, const Piece& b) {
  if (a.target.id != b.target.id) return a.target.id < b.target.id;
  if (a.source.id != b.source.id) return a.source.id < b.source.id;
  return std::lexicographical_compare(a.box.begin(), a.box.end(), b.box.begin(), b.box.end(),
                                      [](const Range& x, const Range& y) { return x.start < y.start; });
}

namespace detail {

namespace {

/// The peers after this rank first, so that not everyone turns to rank 0 at once; what stays in the process comes before all.
void order_by_peer(std::vector<Piece>& pieces, std::int64_t rank, Device Piece::*peer) {
  const auto key = [&](const Piece& p) { return std::pair((p.*peer).rank < rank, (p.*peer).rank); };
  std::stable_sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {  // they come in sorted runs
    return key(a) != key(b) ? key(a) < key(b) : piece_order(a, b);
  });
}

/// How many of a box's holders one process has. It may differ from box to box on odd lists; both ends take the first box's.
std::int64_t copies_in_first_process(const Holders& holders, std::int64_t devices_per_rank) {
  if (holders.devices().size() == 0) return 1;
  const auto rank = holders.devices()[0].rank;
  return static_cast<std::int64_t>(holders.within(0, Range{rank * devices_per_rank, (rank + 1) * devices_per_rank}).size());
}

}  // namespace

Planner::Planner(const Movement& movement, const Topology& topology)
    : movement_(movement),
      topology_(topology),
      source_(movement.source, movement.extent, "source"),
      target_(movement.target, movement.extent, "target"),
      devices_per_rank_(std::max(source_.devices().devices_per_rank(), target_.devices().devices_per_rank())),
      copies_per_process_(copies_in_first_process(source_, devices_per_rank_)),
      turns_(target_.copies(), (source_.copies().parts + copies_per_process_ - 1) / copies_per_process_) {}

// ---- the lists ----

std::vector<Piece> Planner::receives(const Device& device) const {
  const auto position = target_.find(device.id);
  if (!position) return {};
  auto found = overlaps_of(*position);
  if (found.empty()) return {};
  const auto target_box = found.front().target_box;
  if (found.size() == 1)
    if (const auto holder = exact_holder(found.front(), device)) {
      const auto giver = source_.devices()[*holder];
      return {{giver, device, std::move(found.front().box), giver == device ? Action::alias : Action::hand_over}};
    }
  if (!receives_for_sharers(target_box, *position)) {
    Index all;
    for (std::int64_t d = 0; d < found.front().box.ndim(); ++d) all.push_back({found.front().box[d].start, found.back().box[d].stop});
    const auto first = target_.devices()[*target_.first_within(target_box, sharers(device))];
    return {{first, device, std::move(all), Action::hand_over, true}};
  }
  std::vector<Piece> pieces;
  pieces.reserve(found.size());
  for (auto& o : found) {
    const auto giver = source_.devices()[holder_for(o, *position)];
    pieces.push_back({giver, device, std::move(o.box), giver.rank == device.rank ? Action::copy : Action::send});
  }
  order_by_peer(pieces, device.rank, &Piece::source);
  return pieces;
}

std::vector<Piece> Planner::sends(const Device& device) const {
  std::vector<Piece> pieces;
  if (const auto position = source_.find(device.id)) {
    const auto all = readers_of(*position);
    for (const auto reader : possible_readers(*position, all)) {
      const auto taker = target_.devices()[reader];
      if (taker.rank == device.rank) continue;
      auto overlap = overlap_of(all, reader);
      if (overlap && receives_for_sharers(overlap->target_box, reader) && holder_for(*overlap, reader) == position &&
          !exact_holder(*overlap, taker))
        pieces.push_back({device, taker, std::move(overlap->box), Action::send});
    }
  }
  if (topology_.node_shares_memory) lend(device, pieces);
  order_by_peer(pieces, device.rank, &Piece::target);
  return pieces;
}

// ---- which boxes overlap: the product of what overlaps on each axis ----

/// What every overlap of a reader begins with, before any axis is looked at.
Overlap Planner::start(std::int64_t reader) const {
  return {Index::whole(movement_.extent), source_.first_box(), target_.first_box(), turns_.of_copy(target_.copy_of(reader))};
}

Overlap Planner::extended(Overlap so_far, std::size_t d, const AxisOverlap& axis) const {
  so_far.box[static_cast<std::int64_t>(d)] = axis.range;
  so_far.source_box += axis.source_offset;
  so_far.target_box += axis.target_offset;
  so_far.turn = turns_.add(so_far.turn, axis.index, axis.count, *target_.axes()[d].split);
  return so_far;
}

/// Everything the reader's box is made of, in increasing coordinates.
std::vector<Overlap> Planner::overlaps_of(std::int64_t reader) const {
  std::vector<Overlap> found{start(reader)};
  for (std::size_t d = 0; d < target_.axes().size(); ++d) {
    const auto axis = overlaps(source_.axes()[d], target_.axes()[d], target_.axes()[d].split->part_at(reader));
    if (axis.size() == 1) {
      for (auto& o : found) o = extended(std::move(o), d, axis.front());
      continue;
    }
    std::vector<Overlap> longer;
    longer.reserve(found.size() * axis.size());
    for (const auto& o : found)
      for (const auto& a : axis) longer.push_back(extended(o, d, a));
    found = std::move(longer);
  }
  return found;
}

std::optional<Overlap> Planner::overlap_of(const Readers& all, std::int64_t reader) const {
  auto found = start(reader);
  for (std::size_t d = 0; d < target_.axes().size(); ++d) {
    const auto& target = target_.axes()[d];
    const auto axis = overlap(all.reaches[d], target, target.split->part_at(reader));
    if (axis.range.empty()) return std::nullopt;
    found = extended(std::move(found), d, axis);
  }
  return found;
}

// ---- which holder serves which reader ----

/// The reader's own copy, else its process's, else in turn one on its node, else in turn one anywhere.
std::int64_t Planner::holder_for(const Overlap& overlap, std::int64_t reader) const {
  const auto device = target_.devices()[reader];
  const auto box = overlap.source_box;
  if (const auto own = source_.find(device.id); own && source_.box_of(*own) == box) return *own;
  if (source_.copies().parts == 1) return box;
  if (const auto near = source_.first_within(box, process(device))) return *near;
  // Boxes with one reader each must not all ask their first holder: the turns of box b begin at b.
  const auto turn = box + overlap.turn.number;
  if (topology_.ranks_per_node > 0)
    if (const auto near = source_.within(box, node(device)); !near.empty())
      return near[static_cast<std::size_t>(turn % static_cast<std::int64_t>(near.size()))];
  return source_.holder(box, turn % turns_.holders() * copies_per_process_);
}

Planner::Readers Planner::readers_of(std::int64_t holder) const {
  Readers readers{{}, target_.copies().parts};
  for (std::size_t d = 0; d < source_.axes().size(); ++d) {
    const auto& source = source_.axes()[d];
    readers.reaches.push_back(reach(source, source.split->part_at(holder), target_.axes()[d]));
    readers.count *= readers.reaches.back().count;
  }
  return readers;
}

std::int64_t Planner::reader(const Readers& all, std::int64_t number) const {
  Turn turn{number, all.count};
  auto box = target_.first_box();
  for (auto d = all.reaches.size(); d-- > 0;) {
    const auto& target = target_.axes()[d];
    box += target.offset(all.reaches[d].first + turns_.remove(turn, all.reaches[d].count, *target.split));
  }
  return target_.holder(box, turns_.copy_of(turn));
}

/// The readers whose holder_for may be this holder: those on its node, and those whose turn it is.
std::vector<std::int64_t> Planner::possible_readers(std::int64_t holder, const Readers& all) const {
  std::vector<std::int64_t> readers;
  const auto near = topology_.ranks_per_node > 0 ? node(source_.devices()[holder]) : Nearby(Range{});
  if (all.count <= near.size()) {
    for (std::int64_t n = 0; n < all.count; ++n) readers.push_back(reader(all, n));
    return readers;
  }
  for (std::int64_t k = 0; k < near.size(); ++k)
    if (const auto position = target_.find(near[k])) readers.push_back(*position);
  const auto copy = source_.copy_of(holder), holders = turns_.holders();
  if (copy % copies_per_process_ != 0) return readers;
  const auto turn = (copy / copies_per_process_ - source_.box_of(holder) % holders + holders) % holders;
  for (auto n = turn; n < all.count; n += holders) {
    const auto position = reader(all, n);
    if (!near.contains(target_.devices().id(position))) readers.push_back(position);
  }
  return readers;
}

}  // namespace detail
}  // namespace meshwise

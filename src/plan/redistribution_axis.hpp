#pragma once
// One axis of a movement: how each end cuts it, and which parts of the two ends overlap.

#include <cstdint>
#include <vector>

#include "meshwise/base/shape.hpp"
#include "meshwise/placement/sharding.hpp"
#include "meshwise/plan/redistribution.hpp"

namespace meshwise::detail {

/// Local. A movement's axis as one end cuts it: coordinate c, 0 <= c < extent, is element start + step * c of an array axis of
/// `units` runs of `unit` elements, and the runs are split in parts.
struct CutAxis {
  const AxisSplit* split = nullptr;
  std::int64_t units = 0, unit = 1;
  std::int64_t start = 0, step = 1, extent = 0;
  std::int64_t panel = 0, panels = 1;  // of each part only that one is wanted
  bool across = false;                 // of the whole axis only that one is wanted

  /// Local. The elements of a part.
  Range elements(std::int64_t part) const;
  /// Local. The coordinates whose elements lie in a part; with a step they may be none, though the part has elements.
  Range coordinates(std::int64_t part) const;
  /// Local. The part that has the element of a coordinate, be it in the panel or not.
  std::int64_t part_at(std::int64_t coordinate) const;
  /// Local. How far the devices of a part stand, in list positions, from those of part 0.
  std::int64_t offset(std::int64_t part) const;
};

/// Local. A source part and the target parts it reaches: from the one with its first coordinate to the one with its last.
struct AxisReach {
  Range coordinates{};                // of the source part
  std::int64_t offset = 0;            // of the source part
  std::int64_t first = 0, count = 0;  // of the target parts
};
AxisReach reach(const CutAxis& source, std::int64_t source_part, const CutAxis& target);

/// Local. Where a source part and a target part overlap, on one axis.
struct AxisOverlap {
  Range range{};                                      // of coordinates
  std::int64_t source_offset = 0, target_offset = 0;  // of the two parts
  std::int64_t index = 0, count = 0;                  // of the target part among those that the source part reaches
};
AxisOverlap overlap(const AxisReach& source, const CutAxis& target, std::int64_t target_part);

/// Local. The source parts that a target part overlaps, in increasing coordinates: O(of them).
std::vector<AxisOverlap> overlaps(const CutAxis& source, const CutAxis& target, std::int64_t target_part);

}  // namespace meshwise::detail

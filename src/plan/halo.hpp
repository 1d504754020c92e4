#pragma once
// Parts of an array with what lies around them: which elements each device lacks, whatever the number of neighbours they come from.
//
// A widened array has, for each part of an axis, room for the longest range that a part wants: part t begins at t * longest. Cut like the array that it was made
// from, it gives each device its part and the rim, and is made by moving boxes.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "meshwise/base/shape.hpp"
#include "meshwise/placement/sharding.hpp"
#include "meshwise/plan/pad_mode.hpp"

namespace meshwise::detail {

/// Local. Neighbours that move together: positions to, to + 1, ... hold the elements first, first + step, ..., `count` of them.
struct ElementRun {
  std::int64_t to = 0, first = 0, step = 1, count = 0;
  friend bool operator==(const ElementRun&, const ElementRun&) = default;
};

/// Local. Which elements of an axis of length n stand at the positions `wanted`, counted from its first element and beyond its ends as the mode says; without
/// one nothing stands there. `to` counts from wanted.start. With a mode n is not 0.
std::vector<ElementRun> runs_of(Range wanted, std::int64_t n, std::optional<PadMode> mode);

/// Local. What the device of each part of an axis of length n wants of it; positions beyond its ends too.
struct Reach {
  std::int64_t length = 0;
  std::vector<Range> wanted{};
  std::int64_t parts() const { return std::ssize(wanted); }
  std::int64_t longest() const;
  /// Local. What the part wants that has `result`, not empty, of an axis of `result_length` in as many parts.
  const Range& wanted_at(const Range& result, std::int64_t result_length) const {
    return wanted[static_cast<std::size_t>(part_of(result.start, parts(), result_length))];
  }
  /// Local. Each wants elements of its own part alone.
  bool stays_in_parts() const;
};

/// Local. Each part with so many before and after it; nothing where the part is empty.
Reach rim_reach(std::int64_t n, std::int64_t parts, std::int64_t before, std::int64_t after);

/// Local. Windows along an axis: window i has the elements [i * stride - before, i * stride - before + size) that there are, for i below `count`.
struct WindowAxis {
  std::int64_t size = 1, stride = 1, before = 0, count = 0;
};
/// Local. Those that lie in an axis of n elements; `same`: ceil(n / stride) of them, as much beyond either end (one more beyond the second).
WindowAxis window_axis(std::int64_t n, std::int64_t size, std::int64_t stride, bool same);
/// Local. What windows `windows`, not empty, have of an axis of n elements.
Range elements_of(const WindowAxis& axis, const Range& windows, std::int64_t n);
/// Local. What the windows want whose results are part t of `axis.count`; elements that there are.
Reach window_reach(std::int64_t n, std::int64_t parts, const WindowAxis& axis);

/// Local. A box of the array that becomes a box of the widened one, axis by axis.
using HaloMove = PerAxis<ElementRun>;
/// Local. The moves that widen an array, of which the devices at `positions` give or receive something: in the same order wherever they are listed.
std::vector<HaloMove> halo_moves(std::span<const AxisSplit> splits, std::span<const Reach> reaches, std::optional<PadMode> mode,
                                 std::span<const std::int64_t> positions);

}  // namespace meshwise::detail

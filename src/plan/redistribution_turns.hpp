#pragma once
// Who reads from whom where a box has several holders: the readers take turns.

#include <cstdint>

#include "meshwise/placement/sharding.hpp"

namespace meshwise::detail {

/// Local. A place in a grid of readers whose axes are added one by one: `number` of `count` so far.
struct Turn {
  std::int64_t number = 0, count = 1;
};

/// Local. Numbers the readers of a box so that reader n reads from holder n mod `holders` and all holders are asked alike.
///
/// The readers are a grid: copies of a target box, by the target boxes that overlap the box. Counting its cells plainly spreads badly,
/// because readers that have the box themselves do not ask, and they lie on a line. Gather P('y') on a (2,2) mesh: box 0 is held by
/// positions 0 and 2 (y = 0) and asked for by 1 and 3 (y = 1), and in plain counting these are both odd. So the count is skewed: each
/// time its rows come round to the same holder, the next row starts one later. Every line along one axis then meets all holders evenly:
///
///             plain   mod 2      skewed   mod 2
///     x = 0    0 1     0 1        0 1      0 1
///     x = 1    2 3     0 1        3 2      1 0
class Turns {
 public:
  Turns(const AxisSplit& copies, std::int64_t holders) : copies_(copies), holders_(holders) {}

  std::int64_t holders() const { return holders_; }
  /// Local. The grid of one target box's copies.
  Turn of_copy(std::int64_t copy) const;
  /// Local. More axes of the grid: `count` neighbouring parts of a split axis, one for each of its mesh axes as far as they divide the
  /// count, `turn` being at `index` of them.
  Turn add(Turn turn, std::int64_t index, std::int64_t count, const AxisSplit& split) const;
  /// Local. Undo both: take the axes added last off and tell the index on them; tell the copy.
  std::int64_t remove(Turn& turn, std::int64_t count, const AxisSplit& split) const;
  std::int64_t copy_of(Turn turn) const;

 private:
  std::int64_t skew(std::int64_t row, std::int64_t row_length) const;
  Turn add_axis(Turn turn, std::int64_t index, std::int64_t size) const;
  std::int64_t remove_axis(Turn& turn, std::int64_t size) const;

  const AxisSplit& copies_;
  std::int64_t holders_;
};

}  // namespace meshwise::detail

#pragma once
// One end of a movement: who holds which box.

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwise/plan/topology.hpp"
#include "plan/redistribution_axis.hpp"

namespace meshwise::detail {

/// Local. The boxes of one end and the devices that hold each. Devices are meant by their position in the end's list.
///
/// A box is numbered by the first device that holds it: on a (2,2) mesh under P('y') positions 0 and 2 hold box 0, positions 1 and 3
/// hold box 1. Its holders are counted as copies 0, 1, ... in list order. From number to holder and back is arithmetic on the
/// digits of the mesh axes that the spec leaves free; no holder is ever looked for.
class Holders {
 public:
  /// Local. Throws: ShapeError when a view or fixed index leaves the array; PlacementError when the spec doesn't fit it.
  Holders(const End& end, const Shape& extent, const char* side);

  const DeviceList& devices() const { return end_.sharding.devices(); }
  const std::vector<CutAxis>& axes() const { return axes_; }
  const AxisSplit& copies() const { return end_.sharding.replicas(); }
  /// Local. Where in the list that device stands, if it is there and its box is not passed by at a fixed index.
  std::optional<std::int64_t> find(std::int64_t device_id) const;
  /// Local. What a box's number has besides the offsets of its parts along the movement's axes.
  std::int64_t first_box() const { return first_box_; }
  std::int64_t box_of(std::int64_t position) const;
  std::int64_t copy_of(std::int64_t position) const { return copies().part_at(position); }
  std::int64_t holder(std::int64_t box, std::int64_t copy) const;
  /// Local. Elements of the whole box, also where the movement does not touch it.
  std::int64_t elements(std::int64_t box) const { return end_.box_at(box).num_elements(); }
  /// Local. The holders among some devices, in list order; looks at all holders or at those devices, whichever are fewer.
  std::vector<std::int64_t> within(std::int64_t box, const Nearby& near) const;
  std::optional<std::int64_t> first_within(std::int64_t box, const Nearby& near) const;

 private:
  struct FixedAxis {
    const AxisSplit* split;
    std::int64_t part;
  };

  const End& end_;
  std::vector<CutAxis> axes_{};
  std::vector<FixedAxis> fixed_{};
  std::int64_t first_box_ = 0;
};

}  // namespace meshwise::detail

#pragma once
// A sharding: which box of an array each device holds.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "meshwise/base/shape.hpp"
#include "meshwise/placement/mesh.hpp"
#include "meshwise/placement/partition_spec.hpp"

namespace meshwise {

namespace detail {
/// Local. How one array axis is cut: into `parts`, numbered by the digits of the mesh axes it is split over.
struct AxisSplit {
  struct Digit {
    std::int64_t stride;  // list positions between neighbours along that mesh axis
    std::int64_t size;
    std::int64_t weight;  // of this digit in the part's number
  };
  std::int64_t parts = 1;
  std::vector<Digit> digits{};
  /// Local. Which part the device at a list position holds.
  std::int64_t part_at(std::int64_t position) const {
    std::int64_t t = 0;
    for (const auto& d : digits) t += position / d.stride % d.size * d.weight;
    return t;
  }
  /// Local. The position of part 0 beside which the device at a position stands, and how far behind it part t is.
  std::int64_t first_of(std::int64_t position) const {
    for (const auto& d : digits) position -= position / d.stride % d.size * d.stride;
    return position;
  }
  std::int64_t offset_of(std::int64_t part) const {
    std::int64_t offset = 0;
    for (const auto& d : digits) offset += part / d.weight % d.size * d.stride;
    return offset;
  }
};
}  // namespace detail

/// Local. Where an array lives: a mesh and a spec, or one device. A value, cheap to copy.
///
/// float32[8,16] on M = (4,2) under P("data", "model"): device 2i+j holds rows [2i,2i+2) and columns [8j,8j+8).
class Sharding {
 public:
  /// Local. The mesh; of a single device, a mesh of that one.
  const Mesh& mesh() const;
  const PartitionSpec& spec() const;
  const DeviceList& devices() const { return mesh().devices(); }
  bool is_single_device() const;

  /// Local. Device and box, in mesh order. Throws: PlacementError when the spec is longer than the shape.
  std::vector<std::pair<Device, Index>> devices_indices_map(const Shape& shape) const;
  /// Local. The box of the device at a position of the mesh's list; O(ndim).
  Index index_at(const Shape& shape, std::int64_t position) const;
  /// Local. How many earlier devices in mesh order hold the same box, equal empty boxes included; no scan.
  std::int64_t replica_id(const Shape& shape, std::int64_t position) const;
  /// Local. The largest part.
  Shape shard_shape(const Shape& shape) const;
  /// Local. Exactly that device's part. Throws: PlacementError when the device is not in the mesh.
  Shape shard_shape(const Shape& shape, const Device& device) const;
  bool is_fully_replicated() const;
  /// Local. Every device is this rank's.
  bool is_fully_addressable() const;
  /// Local. Ordered device lists and boxes equal for arrays of `ndim` axes; names, types, factoring and size-1 axes do not
  /// matter. O(mesh axes). Throws: PlacementError when a spec has more than `ndim` entries.
  bool is_equivalent_to(const Sharding& other, std::int64_t ndim) const;
  /// Local. Throws PlacementError, naming spec and shape, when the spec has more entries than the array axes.
  void check_fits(const Shape& shape) const;
  /// Local. Equal kind, mesh and spec as values.
  friend bool operator==(const Sharding& a, const Sharding& b);
  /// Local. The same on every rank for equal shardings.
  std::uint64_t hash() const;
  /// Local. How array axis `axis` is cut (one part beyond the spec's end).
  const detail::AxisSplit& split(std::int64_t axis) const;
  /// Local. Digits of the mesh axes (of size > 1) the spec does not use: which replica a device is; `parts` = number of replicas.
  const detail::AxisSplit& replicas() const;

  struct State;

 protected:
  explicit Sharding(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Local. A mesh and a spec. Throws at construction: UnknownAxisError (axis, spec, the mesh's names); DuplicateAxisError.
class NamedSharding : public Sharding {
 public:
  NamedSharding(const Mesh& mesh, const PartitionSpec& spec);
};

/// Local. Everything on one device.
class SingleDeviceSharding : public Sharding {
 public:
  explicit SingleDeviceSharding(const Device& device);
};

/// Local. `NamedSharding(mesh=Mesh(...), spec=P('x',))`, `SingleDeviceSharding(device=0)`.
std::string to_string(const Sharding& sharding);

}  // namespace meshwise

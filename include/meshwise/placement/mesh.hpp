#pragma once
// A mesh: a grid of devices with named axes.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwise/placement/device.hpp"

namespace meshwise {

/// Local. Auto: layouts negotiate. Explicit: the sharding is part of an array's type.
enum class AxisType : std::uint8_t { Auto, Explicit };

/// Local. One type for every axis, or one per axis.
class AxisTypes {
 public:
  AxisTypes(AxisType all = AxisType::Auto) : all_(all) {}
  AxisTypes(std::initializer_list<AxisType> each) : each_(each) {}
  explicit AxisTypes(std::vector<AxisType> each) : each_(std::move(each)) {}
  std::vector<AxisType> resolve(std::size_t axes) const;

 private:
  AxisType all_ = AxisType::Auto;
  std::vector<AxisType> each_;
};

struct MeshOptions {
  DeviceList devices{};
  AxisTypes axis_types{};
};

/// Local. A named grid of devices, a value; equal meshes share one state however often they are made.
///
/// make_mesh({4, 2}, {"data", "model"}) over devices 0..7, device at (i, j) = 2i + j:
///
///              model 0  model 1
///     data 0      0        1
///     data 1      2        3
///     data 2      4        5
///     data 3      6        7
class Mesh {
 public:
  const std::vector<std::int64_t>& axis_sizes() const;
  const std::vector<std::string>& axis_names() const;
  const std::vector<AxisType>& axis_types() const;
  /// Local. Row-major over the grid, the last axis fastest.
  const DeviceList& devices() const;
  std::int64_t ndim() const { return static_cast<std::int64_t>(axis_sizes().size()); }
  std::int64_t size() const { return devices().size(); }
  /// Local. Which axis has that name, if any.
  std::optional<std::size_t> find_axis(std::string_view axis) const;
  /// Local. Steps in list positions between neighbours along each axis.
  const std::vector<std::int64_t>& strides() const;
  bool is_explicit() const;
  /// Local. Sizes, names, types and ORDERED devices equal.
  friend bool operator==(const Mesh& a, const Mesh& b) { return a.state_ == b.state_; }
  /// Local. A number that is the same on every rank for equal meshes.
  std::uint64_t hash() const;

  struct State;

 private:
  friend Mesh make_mesh(const std::vector<std::int64_t>&, const std::vector<std::string>&, const MeshOptions&);
  explicit Mesh(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// Local. A mesh of `sizes` named `names`, row-major over the options' devices (the world's if none are given).
/// Throws: PlacementError when there are fewer devices than the product, or ids repeat, or names are empty;
/// DuplicateAxisError for a name given twice.
Mesh make_mesh(const std::vector<std::int64_t>& sizes, const std::vector<std::string>& names, const MeshOptions& options = {});

/// Local. `Mesh('data': 4, 'model': 2, axis_types=(Auto, Auto))`.
std::string to_string(const Mesh& mesh);

}  // namespace meshwise

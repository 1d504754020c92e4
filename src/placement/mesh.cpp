#include "meshwise/placement/mesh.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "meshwise/base/hash.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/shape.hpp"
#include "placement/text.hpp"

namespace meshwise {

struct Mesh::State {
  std::vector<std::int64_t> sizes;
  std::vector<std::string> names;
  std::vector<AxisType> types;
  DeviceList devices;
  std::uint64_t hash;
  std::vector<std::int64_t> strides;

  bool same_as(const State& other) const {
    return hash == other.hash && sizes == other.sizes && names == other.names && types == other.types && devices == other.devices;
  }
};

namespace {

using State = Mesh::State;

// Equal meshes share one state while any handle lives. The table keeps no mesh alive, and a dying state takes its own entry
// out, so meshes made and dropped leave nothing behind.
class Table {
 public:
  std::shared_ptr<const State> find(const State& wanted) {
    const std::scoped_lock lock(mutex_);
    return find_locked(wanted);
  }

  std::shared_ptr<const State> add(State state) {
    // Declared before the lock, so released after it: its deleter takes the lock too.
    const std::shared_ptr<const State> made(new State(std::move(state)), [this](const State* dead) { drop(dead); });
    const std::scoped_lock lock(mutex_);
    if (auto twin = find_locked(*made)) return twin;
    entries_.emplace(made->hash, Entry{made.get(), made});
    return made;
  }

 private:
  struct Entry {
    const State* state;  // valid while the entry is in the table
    std::weak_ptr<const State> handle;
  };

  std::shared_ptr<const State> find_locked(const State& wanted) {
    const auto [begin, end] = entries_.equal_range(wanted.hash);
    // Only the handle that is returned may be locked: dropping the last one in here would wait for the lock we hold.
    for (auto it = begin; it != end; ++it)
      if (it->second.state->same_as(wanted))
        if (auto live = it->second.handle.lock()) return live;
    return nullptr;
  }

  void drop(const State* dead) {
    const std::unique_ptr<const State> deleted_after_the_lock(dead);
    const std::scoped_lock lock(mutex_);
    const auto [begin, end] = entries_.equal_range(dead->hash);
    const auto own = std::find_if(begin, end, [&](const auto& item) { return item.second.state == dead; });
    if (own != end) entries_.erase(own);
  }

  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, Entry> entries_;
};

// Never destroyed: static arrays, and the meshes in them, are dropped after main has returned.
Table& table() {
  static auto* const instance = new Table;
  return *instance;
}

void check_axes(const std::vector<std::int64_t>& sizes, const std::vector<std::string>& names) {
  if (sizes.size() != names.size())
    throw PlacementError(fmt::format("make_mesh: {} axis sizes {} but {} axis names {}; give one name for each axis", sizes.size(),
                                     to_string(Shape(sizes)), names.size(), detail::names_tuple(names)));
  if (sizes.empty()) throw PlacementError("make_mesh: a mesh needs at least one axis; a single device is make_mesh({1}, {\"x\"})");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty())
      throw PlacementError(
          fmt::format("make_mesh: axis {} of {} has an empty name; a spec could not name it", i, detail::names_tuple(names)));
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      throw DuplicateAxisError(fmt::format("make_mesh: the axis name '{}' is given twice in {}; a spec could not tell the axes apart",
                                           names[i], detail::names_tuple(names)));
    if (sizes[i] < 1)
      throw PlacementError(
          fmt::format("make_mesh: axis '{}' has size {} in {}; every size is at least 1", names[i], sizes[i], to_string(Shape(sizes))));
  }
}

std::int64_t product_of(const std::vector<std::int64_t>& sizes) {
  std::int64_t product = 1;
  for (const auto n : sizes)
    if (__builtin_mul_overflow(product, n, &product)) return std::numeric_limits<std::int64_t>::max();
  return product;
}

DeviceList devices_for(const std::vector<std::int64_t>& sizes, const MeshOptions& options) {
  const auto need = product_of(sizes);
  const bool given = options.devices.is_set();
  const auto all = given ? options.devices : devices();
  if (all.size() >= need) return all.first(need);
  if (given)
    throw PlacementError(fmt::format("make_mesh: axis sizes {} need {} devices, but the list {} has {}; give {} devices or smaller sizes",
                                     to_string(Shape(sizes)), need, to_string(all), all.size(), need));
  const auto ranks = (need - 1) / all.devices_per_rank() + 1;
  throw PlacementError(fmt::format(
      "make_mesh: axis sizes {} need {} devices, but there are {}; start the program with {}", to_string(Shape(sizes)), need, all.size(),
      all.devices_per_rank() == 1 ? fmt::format("mpirun -n {}, or in one process with MESHWISE_DEVICES_PER_RANK={}", need, need)
                                  : fmt::format("mpirun -n {} (each rank has {} devices)", ranks, all.devices_per_rank())));
}

void check_distinct(const DeviceList& devices) {
  if (const auto id = devices.repeated_id())
    throw PlacementError(
        fmt::format("make_mesh: device {} occurs twice in {}; each device has one place in a mesh", *id, to_string(devices)));
}

std::uint64_t hash_of(const State& s) {
  auto h = detail::mix(s.devices.hash(), std::uint64_t{s.sizes.size()});
  for (std::size_t i = 0; i < s.sizes.size(); ++i)
    h = detail::mix(detail::mix(detail::mix(h, s.sizes[i]), s.names[i]), static_cast<std::uint64_t>(s.types[i]));
  return h;
}

std::vector<AxisType> types_for(const AxisTypes& types, const std::vector<std::string>& names) {
  auto each = types.resolve(names.size());
  if (each.size() != names.size())
    throw PlacementError(fmt::format("make_mesh: {} axis types for the {} axes {}; give one type, or one for each axis", each.size(),
                                     names.size(), detail::names_tuple(names)));
  return each;
}

}  // namespace

std::vector<AxisType> AxisTypes::resolve(std::size_t axes) const { return each_.empty() ? std::vector<AxisType>(axes, all_) : each_; }

const std::vector<std::int64_t>& Mesh::axis_sizes() const { return state_->sizes; }
const std::vector<std::string>& Mesh::axis_names() const { return state_->names; }
const std::vector<AxisType>& Mesh::axis_types() const { return state_->types; }
const DeviceList& Mesh::devices() const { return state_->devices; }
const std::vector<std::int64_t>& Mesh::strides() const { return state_->strides; }
std::uint64_t Mesh::hash() const { return state_->hash; }

std::optional<std::size_t> Mesh::find_axis(std::string_view axis) const {
  const auto& names = state_->names;
  const auto found = std::find(names.begin(), names.end(), axis);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

bool Mesh::is_explicit() const {
  const auto& types = state_->types;
  return std::find(types.begin(), types.end(), AxisType::Explicit) != types.end();
}

Mesh make_mesh(const std::vector<std::int64_t>& sizes, const std::vector<std::string>& names, const MeshOptions& options) {
  check_axes(sizes, names);
  State state{sizes, names, types_for(options.axis_types, names), devices_for(sizes, options), 0, {}};
  const auto strides = row_major_strides(Shape(sizes));
  state.strides.assign(strides.begin(), strides.end());
  state.hash = hash_of(state);
  if (auto known = table().find(state)) return Mesh(std::move(known));
  check_distinct(state.devices);
  return Mesh(table().add(std::move(state)));
}

std::string to_string(const Mesh& mesh) {
  std::string axes, types;
  for (std::size_t i = 0; i < mesh.axis_sizes().size(); ++i) {
    axes += fmt::format("'{}': {}, ", mesh.axis_names()[i], mesh.axis_sizes()[i]);
    types += fmt::format("{}{}", i == 0 ? "" : ", ", mesh.axis_types()[i] == AxisType::Auto ? "Auto" : "Explicit");
  }
  return fmt::format("Mesh({}axis_types=({}{}))", axes, types, mesh.ndim() == 1 ? "," : "");
}

}  // namespace meshwise

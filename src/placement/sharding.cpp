#include "meshwise/placement/sharding.hpp"

#include <algorithm>

#include "meshwise/base/hash.hpp"
#include "meshwise/base/error.hpp"
#include "placement/text.hpp"

namespace meshwise {

using detail::AxisSplit;

struct Sharding::State {
  Mesh mesh;
  PartitionSpec spec;
  bool single;
  std::uint64_t hash = 0;
  std::int64_t parts = 1;
  std::vector<AxisSplit> splits{};  // one per spec entry; mesh axes of size 1 have no digit
  AxisSplit replicas{};
};

namespace {

using State = Sharding::State;
using Digit = AxisSplit::Digit;

void set_weights(AxisSplit& split) {
  split.parts = 1;
  for (auto digit = split.digits.rbegin(); digit != split.digits.rend(); ++digit) {
    digit->weight = split.parts;
    split.parts *= digit->size;
  }
}

// A split is a function from list positions to part numbers. Sorted by stride, with neighbours joined where together they count
// on as one digit, its digits are unique: the least position with a part other than 0 fixes the first digit's stride and weight,
// the first that breaks the count fixes its size, and so on.
std::vector<Digit> normal_form(std::vector<Digit> digits) {
  std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
  std::vector<Digit> form;
  for (const auto& d : digits) {
    if (!form.empty() && form.back().stride * form.back().size == d.stride && form.back().weight * form.back().size == d.weight)
      form.back().size *= d.size;
    else
      form.push_back(d);
  }
  return form;
}

bool same_digits(const std::vector<Digit>& a, const std::vector<Digit>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Digit& x, const Digit& y) { return x.stride == y.stride && x.size == y.size && x.weight == y.weight; });
}

bool same_split(const AxisSplit& a, const AxisSplit& b) {
  if (a.parts != b.parts) return false;
  if (same_digits(a.digits, b.digits)) return true;
  return a.digits.size() + b.digits.size() > 2 && same_digits(normal_form(a.digits), normal_form(b.digits));
}

std::uint64_t hash_of(const State& s) {
  auto h = detail::mix(s.mesh.hash(), std::uint64_t{s.single});
  for (const auto& entry : s.spec.entries()) {
    h = detail::mix(h, std::uint64_t{entry.axes().size()});
    for (const auto& axis : entry.axes()) h = detail::mix(h, std::uint64_t{*s.mesh.find_axis(axis)});
  }
  return h;
}

void check_spec(const Mesh& mesh, const PartitionSpec& spec) {
  std::vector<const std::string*> seen;
  seen.reserve(mesh.axis_names().size());
  for (const auto& entry : spec.entries())
    for (const auto& axis : entry.axes()) {
      for (const auto* earlier : seen)
        if (*earlier == axis)
          throw DuplicateAxisError(fmt::format(
              "NamedSharding: {} uses the mesh axis '{}' twice; a mesh axis can split one array axis, once", to_string(spec), axis));
      seen.push_back(&axis);
    }
  for (const auto* axis : seen)
    if (!mesh.find_axis(*axis))
      throw UnknownAxisError(fmt::format("NamedSharding: {} names the axis '{}', which is not in {}; its axes are {}", to_string(spec),
                                         *axis, to_string(mesh), detail::names_tuple(mesh.axis_names())));
}

std::shared_ptr<const State> make_state(const Mesh& mesh, const PartitionSpec& spec, bool single) {
  check_spec(mesh, spec);
  auto state = std::make_shared<State>(State{mesh, spec, single});
  const auto& sizes = mesh.axis_sizes();
  std::vector<bool> used(sizes.size(), false);
  state->splits.reserve(spec.entries().size());
  for (const auto& entry : spec.entries()) {
    auto& split = state->splits.emplace_back();
    split.digits.reserve(entry.axes().size());
    for (const auto& name : entry.axes()) {
      const auto axis = *mesh.find_axis(name);
      used[axis] = true;
      if (sizes[axis] > 1) split.digits.push_back({mesh.strides()[axis], sizes[axis], 0});
    }
    set_weights(split);
    state->parts *= split.parts;
  }
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    if (!used[axis] && sizes[axis] > 1) state->replicas.digits.push_back({mesh.strides()[axis], sizes[axis], 0});
  set_weights(state->replicas);
  state->hash = hash_of(*state);
  return state;
}

// Part numbers whose range over `length` elements is the same as part t's: t itself, or a run of empty parts.
Range equal_parts(std::int64_t t, std::int64_t parts, std::int64_t length) {
  const auto box = part(t, parts, length);
  if (!box.empty()) return {t, t + 1};
  if (length == 0) return {0, parts};
  // Between the last part that ends the elements before box.start and the first that begins the ones after it.
  const auto low = box.start == 0 ? 0 : part_of(box.start - 1, parts, length) + 1;
  const auto high = box.start == length ? parts : part_of(box.start, parts, length);
  return {low, high};
}

// How many part numbers below `bound` have every digit in its range. `digits` has the weights, major first.
std::int64_t count_below(std::int64_t bound, const AxisSplit& split, const std::vector<Range>& allowed) {
  if (bound >= split.parts) {
    std::int64_t all = 1;
    for (const auto& range : allowed) all *= range.size();
    return all;
  }
  std::int64_t count = 0;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const auto digit = bound / split.digits[i].weight % split.digits[i].size;
    auto below = intersect(allowed[i], {0, digit}).size();
    for (std::size_t j = i + 1; j < allowed.size(); ++j) below *= allowed[j].size();
    count += below;
    if (digit < allowed[i].start || digit >= allowed[i].stop) return count;
  }
  return count;
}

const AxisSplit& unsplit() {
  static const auto* const instance = new AxisSplit;
  return *instance;
}

// No user would write this name, and no spec needs it: a single device's spec is P().
Mesh mesh_of_one(const Device& device) { return make_mesh({1}, {"(single device)"}, {.devices = DeviceList(device)}); }

}  // namespace

const Mesh& Sharding::mesh() const { return state_->mesh; }
const PartitionSpec& Sharding::spec() const { return state_->spec; }
bool Sharding::is_single_device() const { return state_->single; }
bool Sharding::is_fully_replicated() const { return state_->parts == 1; }
bool Sharding::is_fully_addressable() const { return devices().all_on_rank(detail::this_rank()); }
std::uint64_t Sharding::hash() const { return state_->hash; }
const AxisSplit& Sharding::replicas() const { return state_->replicas; }

const AxisSplit& Sharding::split(std::int64_t axis) const {
  return axis < spec().size() ? state_->splits[static_cast<std::size_t>(axis)] : unsplit();
}

void Sharding::check_fits(const Shape& shape) const {
  const auto entries = spec().size();
  if (entries <= shape.ndim()) return;
  throw PlacementError(fmt::format("{} has {} {}, but an array of shape {} has {} {}; a spec has at most one entry for each array axis{}",
                                   to_string(spec()), entries, entries == 1 ? "entry" : "entries", to_string(shape), shape.ndim(),
                                   shape.ndim() == 1 ? "axis" : "axes", shape.empty() ? ", and a scalar takes P()" : ""));
}

Index Sharding::index_at(const Shape& shape, std::int64_t position) const {
  check_fits(shape);
  auto box = Index::whole(shape);
  for (std::int64_t axis = 0; axis < spec().size(); ++axis) {
    const auto& s = split(axis);
    if (s.parts > 1) box[axis] = part(s.part_at(position), s.parts, shape[axis]);
  }
  return box;
}

std::vector<std::pair<Device, Index>> Sharding::devices_indices_map(const Shape& shape) const {
  std::vector<std::pair<Device, Index>> map;
  map.reserve(static_cast<std::size_t>(devices().size()));
  for (std::int64_t i = 0; i < devices().size(); ++i) map.emplace_back(devices()[i], index_at(shape, i));
  return map;
}

std::int64_t Sharding::replica_id(const Shape& shape, std::int64_t position) const {
  check_fits(shape);
  bool distinct = true;
  std::vector<Range> wanted;
  for (std::int64_t axis = 0; axis < spec().size(); ++axis) {
    const auto& s = split(axis);
    wanted.push_back(equal_parts(s.part_at(position), s.parts, shape[axis]));
    distinct = distinct && wanted.back().size() == 1;
  }
  if (distinct) return replicas().part_at(position);
  // Some parts are empty and look alike. Earlier devices agree with this one on the digits before some digit m (those of larger
  // stride), stand before it on m, and are anywhere on the later ones: for each m, count those whose part numbers are all wanted.
  const auto before = [&](const Digit& m) {
    const auto range_of = [&](const Digit& d) -> Range {
      const auto at = position / d.stride % d.size;
      return d.stride > m.stride ? Range{at, at + 1} : d.stride == m.stride ? Range{0, at} : Range{0, d.size};
    };
    std::int64_t ways = 1;
    for (const auto& d : state_->replicas.digits) ways *= range_of(d).size();
    for (std::size_t i = 0; i < wanted.size() && ways > 0; ++i) {
      const auto& s = state_->splits[i];
      std::vector<Range> allowed;
      for (const auto& d : s.digits) allowed.push_back(range_of(d));
      ways *= count_below(wanted[i].stop, s, allowed) - count_below(wanted[i].start, s, allowed);
    }
    return ways;
  };
  std::int64_t count = 0;
  for (const auto& m : state_->replicas.digits) count += before(m);
  for (const auto& s : state_->splits)
    for (const auto& m : s.digits) count += before(m);
  return count;
}

Shape Sharding::shard_shape(const Shape& shape) const {
  check_fits(shape);
  auto largest = shape;
  for (std::int64_t axis = 0; axis < spec().size(); ++axis) {
    const auto parts = split(axis).parts;
    largest[axis] = shape[axis] / parts + (shape[axis] % parts != 0 ? 1 : 0);
  }
  return largest;
}

Shape Sharding::shard_shape(const Shape& shape, const Device& device) const {
  const auto position = devices().position_of(device.id);
  if (!position)
    throw PlacementError(
        fmt::format("shard_shape: device {} is not in {}, whose devices are {}", device.id, to_string(*this), to_string(devices())));
  return index_at(shape, *position).shape();
}

bool Sharding::is_equivalent_to(const Sharding& other, std::int64_t ndim) const {
  for (const auto* s : {this, &other})
    if (s->spec().size() > ndim)
      throw PlacementError(fmt::format("is_equivalent_to: {} has {} entries, which no array of {} {} takes", to_string(s->spec()),
                                       s->spec().size(), ndim, ndim == 1 ? "axis" : "axes"));
  if (state_ == other.state_) return true;
  if (state_->parts != other.state_->parts || !(devices() == other.devices())) return false;
  for (std::int64_t axis = 0; axis < std::max(spec().size(), other.spec().size()); ++axis)
    if (!same_split(split(axis), other.split(axis))) return false;
  return true;
}

bool operator==(const Sharding& a, const Sharding& b) {
  if (a.state_ == b.state_) return true;
  return a.hash() == b.hash() && a.is_single_device() == b.is_single_device() && a.mesh() == b.mesh() && a.spec() == b.spec();
}

NamedSharding::NamedSharding(const Mesh& mesh, const PartitionSpec& spec) : Sharding(make_state(mesh, spec, false)) {}

SingleDeviceSharding::SingleDeviceSharding(const Device& device) : Sharding(make_state(mesh_of_one(device), PartitionSpec(), true)) {}

std::string to_string(const Sharding& sharding) {
  if (sharding.is_single_device()) return fmt::format("SingleDeviceSharding(device={})", sharding.devices().id(0));
  return fmt::format("NamedSharding(mesh={}, spec={})", to_string(sharding.mesh()), to_string(sharding.spec()));
}

}  // namespace meshwise

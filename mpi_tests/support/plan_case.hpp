#pragma once
// Random movements in plain numbers, and who holds what in them by counting alone.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "meshwise/plan/redistribution.hpp"

namespace meshwise::testing {

using Ints = std::vector<std::int64_t>;

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// One end: devices on a grid, the mesh axes (by number) that each array axis is split over, and the views.
struct PlainEnd {
  Ints ids{}, mesh_sizes{};
  std::vector<std::vector<std::size_t>> spec{};
  Ints shape{}, unit{}, fixed{};
  std::vector<AxisView> views{};

  std::int64_t positions() const { return static_cast<std::int64_t>(ids.size()); }

  /// [low, high) of array axis a at a position, from the definition.
  Range held(std::int64_t position, std::size_t a) const {
    Ints coordinates(mesh_sizes.size());
    for (auto m = mesh_sizes.size(); m-- > 0; position /= mesh_sizes[m]) coordinates[m] = position % mesh_sizes[m];
    std::int64_t t = 0, parts = 1;
    for (const auto m : spec[a]) {
      t = t * mesh_sizes[m] + coordinates[m];
      parts *= mesh_sizes[m];
    }
    const auto units = shape[a] / unit[a];
    return {t * units / parts * unit[a], (t + 1) * units / parts * unit[a]};
  }

  /// The array element of a movement coordinate.
  Ints element(const Ints& c) const {
    auto e = fixed;
    for (std::size_t d = 0; d < views.size(); ++d) e[at(views[d].axis)] = views[d].start + views[d].step * c[d];
    return e;
  }

  End end(const DeviceList& world) const {
    std::vector<std::string> names;
    for (std::size_t m = 0; m < mesh_sizes.size(); ++m) names.push_back(std::string(1, static_cast<char>('p' + m)));
    const auto mesh = make_mesh(mesh_sizes, names, {.devices = world.pick(ids)});
    std::vector<SpecEntry> entries;
    for (const auto& axes : spec) {
      std::vector<std::string> entry;
      for (const auto m : axes) entry.push_back(names[m]);
      entries.emplace_back(std::move(entry));
    }
    const bool single = ids.size() == 1 && mesh_sizes.size() == 1;
    const auto sharding =
        single ? Sharding(SingleDeviceSharding(world[ids[0]])) : Sharding(NamedSharding(mesh, PartitionSpec(std::move(entries))));
    return {sharding, Shape(shape), views, unit, fixed};
  }

  std::string text() const {
    std::string out = fmt::format("shape {} unit {} fixed {} on mesh {} ids {} spec {} views", shape, unit, fixed, mesh_sizes, ids, spec);
    for (const auto& v : views) out += fmt::format(" {}:{}+{}c", v.axis, v.start, v.step);
    return out;
  }
};

struct PlainCase {
  PlainEnd source{}, target{};
  Ints extent{};
  std::int64_t world = 16, devices_per_rank = 1, ranks_per_node = 0;
  bool shares = false;
  Ints nodes{};  // the node of each rank, over and over; empty: runs of ranks_per_node

  DeviceList devices() const { return DeviceList::virtual_devices(world, devices_per_rank); }
  Topology topology() const {
    if (nodes.empty()) return {ranks_per_node, shares};
    Ints names;
    for (std::int64_t rank = 0; rank < world; ++rank) names.push_back(nodes[at(rank) % nodes.size()]);
    auto topology = Topology::of(names);
    topology.node_shares_memory = shares;
    return topology;
  }
  Movement movement() const { return {source.end(devices()), target.end(devices()), Shape(extent)}; }
  std::int64_t rank(std::int64_t id) const { return id / devices_per_rank; }
  std::int64_t node(std::int64_t id) const {
    if (!nodes.empty()) return nodes[at(rank(id)) % nodes.size()];
    return ranks_per_node > 0 ? rank(id) / ranks_per_node : 0;
  }
  /// Whether two devices can share a block.
  bool together(std::int64_t a, std::int64_t b) const { return rank(a) == rank(b) || (shares && node(a) == node(b)); }
  std::string text() const {
    return fmt::format("extent {}, {} devices a rank, {} ranks a node, nodes {}, shares {}\n  source {}\n  target {}", extent,
                       devices_per_rank, ranks_per_node, nodes, shares, source.text(), target.text());
  }
};

class CaseMaker {
 public:
  explicit CaseMaker(std::uint64_t seed) : random_(seed) {}

  PlainCase make() {
    PlainCase c;
    c.devices_per_rank = pick({1, 1, 2, 4, 8});
    c.ranks_per_node = pick({0, 1, 2, 3});
    c.shares = below(4) == 0;
    if (below(3) == 0) c.nodes = some_nodes();
    const auto ndim = below(5);
    for (std::int64_t d = 0; d < ndim; ++d) c.extent.push_back(ndim < 3 ? pick({0, 1, 2, 3, 5, 7, 8, 12, 16}) : pick({1, 2, 2, 3, 4, 5}));
    const auto kind = static_cast<Kind>(below(3));
    c.source = end(c, kind);
    c.target = below(8) == 0 ? c.source : end(c, kind);
    return c;
  }

 private:
  enum Kind { plain, whole, region };  // a reshard; also transposed and reversed; from some elements of one array to some of another

  /// Ranks dealt in turn, nodes of different sizes, any ranks with any others.
  Ints some_nodes() {
    const auto kind = below(3);
    if (kind == 0) return below(2) == 0 ? Ints{0, 1} : Ints{0, 1, 2};
    if (kind == 1) return {0, 1, 1, 1, 2, 2, 7};
    Ints nodes;
    for (int k = 0; k < 16; ++k) nodes.push_back(below(4));
    return nodes;
  }

  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  std::int64_t pick(std::initializer_list<std::int64_t> from) { return *(from.begin() + below(static_cast<std::int64_t>(from.size()))); }

  void devices(PlainEnd& e, std::int64_t world) {
    std::int64_t size = 1;
    for (auto axes = 1 + below(3); axes > 0; --axes) {
      const auto n = pick({1, 2, 2, 3, 4, 8});
      if (size * n > 8) continue;
      e.mesh_sizes.push_back(n);
      size *= n;
    }
    if (e.mesh_sizes.empty()) e.mesh_sizes.push_back(1);
    e.ids.resize(at(world));
    std::iota(e.ids.begin(), e.ids.end(), 0);
    const auto kind = below(4);  // in order, shifted, reversed, shuffled
    if (kind == 1) std::rotate(e.ids.begin(), e.ids.begin() + below(8), e.ids.end());
    if (kind == 2) std::reverse(e.ids.begin(), e.ids.begin() + size);
    if (kind == 3) std::shuffle(e.ids.begin(), e.ids.end(), random_);
    e.ids.resize(at(size));
  }

  PlainEnd end(const PlainCase& c, Kind kind) {
    PlainEnd e;
    devices(e, c.world);
    const auto ndim = static_cast<std::int64_t>(c.extent.size());
    const auto extra = kind == plain ? 0 : below(3) == 0 ? 1 : 0;
    Ints order(at(ndim + extra));
    std::iota(order.begin(), order.end(), 0);
    if (kind != plain && below(2) == 0) std::shuffle(order.begin(), order.end(), random_);
    e.shape.assign(order.size(), 1);
    e.unit = e.fixed = Ints(order.size(), 0);
    for (std::int64_t d = 0; d < ndim; ++d) {
      AxisView view{order[at(d)]};
      const bool some = kind == region;
      if (kind != plain) view.step = some ? pick({1, 1, 1, 1, -1, 2, -2, 3}) : pick({1, 1, 1, -1});
      if (some) view.start = below(3);
      auto last = std::max<std::int64_t>(0, c.extent[at(d)] - 1) * std::abs(view.step);
      e.shape[at(view.axis)] = !some ? c.extent[at(d)] : view.start + last + 1 + below(3);
      if (view.step < 0) view.start += last;
      e.views.push_back(view);
    }
    for (auto a = ndim; a < ndim + extra; ++a) {
      e.shape[at(order[at(a)])] = kind == whole ? 1 : 1 + below(4);
      e.fixed[at(order[at(a)])] = below(e.shape[at(order[at(a)])]);
    }
    for (std::size_t a = 0; a < order.size(); ++a) {
      e.unit[a] = pick({1, 1, 1, 2, 3});
      if (kind != region && e.shape[a] % e.unit[a] != 0) e.unit[a] = 1;
      e.shape[a] = (e.shape[a] + e.unit[a] - 1) / e.unit[a] * e.unit[a];
    }
    e.spec.resize(order.size());
    std::vector<std::size_t> axes(e.mesh_sizes.size());
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    std::shuffle(axes.begin(), axes.end(), random_);
    for (const auto m : axes)
      if (const auto a = below(static_cast<std::int64_t>(order.size()) + 1); a > 0) e.spec[at(a - 1)].push_back(m);
    // A single device's sharding has no spec.
    if (e.ids.size() == 1 && e.mesh_sizes.size() == 1) e.spec.assign(order.size(), {});
    return e;
  }

  std::mt19937_64 random_;
};

}  // namespace meshwise::testing

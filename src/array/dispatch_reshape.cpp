// A reshape keeps elements in row-major order. Axes fall into groups of equal size on both sides, (2,6)->(3,4) is one group of 12, (5,2,6)->(5,12)
// is two. Where a group is split on its major axis alone, each device holds a run of the flattened group, so the reshape is a movement from
// runs to runs. Other splits are brought to that form first, and taken from it last.

#include <algorithm>
#include <array>

#include "array/dispatch.hpp"
#include "array/negotiate.hpp"
#include "array/place.hpp"
#include "array/rehearsal.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/watch.hpp"

namespace meshwise::detail {

namespace {

/// Axes of one side that belong to a group, axes of length 1 left out.
struct Group {
  std::vector<std::int64_t> from{}, to{};
  std::int64_t size = 1;
};

std::vector<Group> groups_of(const Shape& from, const Shape& to) {
  std::vector<Group> groups;
  std::int64_t i = 0, j = 0;
  while (true) {
    while (i < from.ndim() && from[i] == 1) ++i;
    while (j < to.ndim() && to[j] == 1) ++j;
    if (i == from.ndim() || j == to.ndim()) return groups;
    Group group;
    std::int64_t a = from[i], b = to[j];
    group.from.push_back(i++);
    group.to.push_back(j++);
    while (a != b) {
      if (a < b) {
        if (from[i] != 1) group.from.push_back(i);
        a *= from[i++];
      } else {
        if (to[j] != 1) group.to.push_back(j);
        b *= to[j++];
      }
    }
    group.size = a;
    groups.push_back(std::move(group));
  }
}

/// The entries of a group's axes, major first, as one.
SpecEntry joined_entry(const PartitionSpec& spec, const std::vector<std::int64_t>& axes) {
  std::vector<std::string> names;
  for (const auto axis : axes) names.insert(names.end(), spec[axis].axes().begin(), spec[axis].axes().end());
  return SpecEntry(std::move(names));
}

/// The spec that splits each group on its major axis alone, by all the mesh axes the group is split over.
PartitionSpec major_spec(const PartitionSpec& spec, const std::vector<Group>& groups, std::vector<std::int64_t> Group::*side, std::int64_t ndim) {
  std::vector<SpecEntry> entries(static_cast<std::size_t>(ndim));
  for (const auto& group : groups) entries[static_cast<std::size_t>((group.*side).front())] = joined_entry(spec, group.*side);
  return PartitionSpec(std::move(entries));
}

/// A device's elements of a group in linear order: offset = sum(digit * weight), elements in a nest of (count, stride). Only for even splits.
struct Pattern {
  std::vector<std::array<std::int64_t, 3>> digits{};  // mesh stride, size, weight in the flattened group
  std::vector<std::pair<std::int64_t, std::int64_t>> nest{};
  bool even = true;
  friend bool operator==(const Pattern& a, const Pattern& b) { return a.even && b.even && a.digits == b.digits && a.nest == b.nest; }
};

Pattern pattern_of(const Sharding& sharding, const Shape& shape, const std::vector<std::int64_t>& axes) {
  Pattern out;
  std::int64_t inner = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const auto& split = sharding.split(*axis);
    if (shape[*axis] % split.parts != 0) out.even = false;
    const auto count = shape[*axis] / split.parts;
    for (const auto& d : split.digits)
      if (d.size > 1) out.digits.push_back({d.stride, d.size, d.weight * count * inner});
    if (count > 1) {
      if (!out.nest.empty() && out.nest.back().first * out.nest.back().second == inner) out.nest.back().first *= count;
      else out.nest.emplace_back(count, inner);
    }
    inner *= shape[*axis];
  }
  std::sort(out.digits.begin(), out.digits.end());
  return out;
}

/// A split axis of length 1 leaves devices with nothing.
bool splits_a_single(const Sharding& sharding, const Shape& shape) {
  for (std::int64_t d = 0; d < shape.ndim(); ++d)
    if (shape[d] == 1 && sharding.split(d).parts > 1) return true;
  return false;
}

/// Each device's new block is its old one, read in another shape.
bool stays_local(const std::vector<Group>& groups, const Sharding& from, const Shape& old_shape, const Sharding& to, const Shape& shape) {
  if (splits_a_single(from, old_shape) || splits_a_single(to, shape)) return false;
  return std::all_of(groups.begin(), groups.end(), [&](const Group& g) {
    if (g.from.size() == 1 && g.to.size() == 1) {
      const auto &a = from.split(g.from[0]), &b = to.split(g.to[0]);
      return a.parts == b.parts && std::equal(a.digits.begin(), a.digits.end(), b.digits.begin(), b.digits.end(), [](const auto& x, const auto& y) {
               return x.stride == y.stride && x.size == y.size && x.weight == y.weight;
             });
    }
    return pattern_of(from, old_shape, g.from) == pattern_of(to, shape, g.to);
  });
}

/// The shards read in the shapes their boxes have under `sharding`.
std::vector<LocalShard> reread(const std::vector<LocalShard>& shards, const Sharding& sharding, const Shape& shape) {
  std::vector<LocalShard> out;
  for (const auto& shard : shards) out.push_back({shard.position, shard.data.reshaped(sharding.index_at(shape, shard.position).shape())});
  return out;
}

std::vector<LocalShard> settled(Moved moved) {
  settle(moved.shards, moved.transfer);
  return std::move(moved.shards);
}

/// The flattened groups as one end of a movement.
End flat_end(const Mesh& mesh, const PartitionSpec& major, const std::vector<Group>& groups, std::vector<std::int64_t> Group::*side, const Shape& shape) {
  std::vector<SpecEntry> entries;
  End end{NamedSharding(mesh, PartitionSpec{})};
  for (const auto& group : groups) {
    const auto axis = (group.*side).front();
    entries.push_back(major[axis]);
    end.shape.push_back(group.size);
    end.unit.push_back(group.size / shape[axis]);
  }
  end.sharding = NamedSharding(mesh, PartitionSpec(std::move(entries)));
  return end;
}

/// A reshape's way: to runs of the flattened groups, from runs to runs, and from those.
struct RunsWay {
  NamedSharding from, to;
  Movement movement;
};

RunsWay runs_way(const Array& x, const Sharding& source, const Sharding& target, const Shape& shape, const std::vector<Group>& groups) {
  const auto& mesh = target.mesh();
  const NamedSharding from(mesh, major_spec(source.spec(), groups, &Group::from, x.ndim()));
  const NamedSharding to(mesh, major_spec(target.spec(), groups, &Group::to, shape.ndim()));
  Movement movement{flat_end(mesh, from.spec(), groups, &Group::from, x.shape()), flat_end(mesh, to.spec(), groups, &Group::to, shape), {}};
  movement.extent = movement.target.shape;
  return {from, to, std::move(movement)};
}

Array rehearse_reshape(const Request& request, const Negotiated& negotiated) {
  const auto& x = *request.operands[0].array();
  std::int64_t bytes = 0;
  if (negotiated.layout != nullptr && request.shape.num_elements() > 0) {
    const auto &source = x.sharding(), &target = negotiated.layout->result;
    const auto groups = groups_of(x.shape(), request.shape);
    if (!stays_local(groups, source, x.shape(), target, request.shape)) {
      const auto way = runs_way(x, source, target, request.shape, groups);
      bytes = bytes_between_devices(way.movement, x.itemsize()) +
              (elements_brought(x.shape(), source, way.from) + elements_brought(request.shape, way.to, target)) * x.itemsize();
    }
  }
  return rehearse_counted(request, negotiated, "x to its place", bytes, dispatch_reshape);
}

std::vector<LocalShard> move_runs(const Array& x, const Sharding& source, const Sharding& target, const Shape& shape, const Ticket& ticket) {
  const auto groups = groups_of(x.shape(), shape);
  if (stays_local(groups, source, x.shape(), target, shape)) return reread(bring(x, source, ticket), target, shape);

  const auto [runs_from, runs_to, movement] = runs_way(x, source, target, shape, groups);
  auto old_blocks = bring(x, runs_from, ticket);
  std::vector<LocalShard> flat;
  for (auto& block : old_blocks) flat.push_back({block.position, block.data.reshaped(movement.source.box_at(block.position).shape())});
  const MoveJob job{movement, flat};
  auto runs = reread(settled(run_moves({&job, 1}, movement.target, x.dtype(), ticket)), runs_to, shape);
  if (runs_to.is_equivalent_to(target, shape.ndim())) return runs;
  return settled(run_reshard(runs, runs_to, target, shape, x.dtype(), ticket));
}

}  // namespace

Array dispatch_reshape(const Request& request) {
  const auto negotiated = negotiate(request);
  if (rehearsing()) return rehearse_reshape(request, negotiated);
  const auto& x = *request.operands[0].array();
  if (negotiated.layout == nullptr) {
    if (all_recipes(request)) return make_recipe_array(x.state()->recipe.reshaped(request.shape));
    return make_everywhere_array(x.state()->everywhere.reshaped(request.shape));
  }
  auto ticket = negotiated.ticket;
  describe(ticket, negotiated.layout->words);
  const auto& target = negotiated.layout->result;
  std::vector<LocalShard> shards;
  run_local_part(request.operation, [&] {
    if (request.shape.num_elements() == 0) {
      for (const auto position : local_positions(target.devices()))
        shards.push_back({position, LocalArray(target.index_at(request.shape, position).shape(), request.dtype)});
    } else {
      shards = move_runs(x, x.sharding(), target, request.shape, ticket);
    }
  });
  return make_sharded_array(request.shape, request.dtype, target, true, std::move(shards));
}

}  // namespace meshwise::detail

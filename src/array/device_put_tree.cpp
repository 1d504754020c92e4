// A tree is placed with one call and one message to each peer for all leaves that go from the same devices to the same devices.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "array/rehearsal.hpp"
#include "array/lockstep.hpp"
#include "array/place.hpp"
#include "meshwise/array/device_put.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/watch.hpp"

namespace meshwise {

namespace detail {

namespace {

/// A leaf, and where it goes.
struct Leg {
  const Array* x;
  Sharding target;
  std::size_t leaf;  // its number in the tree

  const DeviceList& from() const { return x->committed() ? x->sharding().devices() : target.devices(); }
  const DeviceList& to() const { return target.devices(); }
};

/// Places leaves whose devices are alike: those that stay where they are first, the rest in one exchange.
void put_group(std::span<const Leg* const> legs, bool donate, std::vector<Array>& placed) {
  constexpr std::string_view operation = "device_put";
  if (rehearsing()) {
    for (const auto* leg : legs) placed[leg->leaf] = device_put(*leg->x, leg->target, {}, std::source_location());
    return;
  }
  const auto& first = *legs.front();
  auto hash = mix(hash_text(operation), mix(legs.size(), donate ? 1 : 0));
  for (const auto* leg : legs) hash = mix(hash, hash_placement(*leg->x, leg->target));
  const Call call{operation, hash, first.x->dtype(), &first.x->shape()};
  const auto ticket = enter_call(call, {&first.from(), &first.to()});

  std::vector<Moved> moved(legs.size());
  run_local_part(operation, [&] {
    std::vector<Reshard> exchanged;
    std::vector<std::size_t> which;
    for (std::size_t k = 0; k < legs.size(); ++k) {
      const auto& [x, target, leaf] = *legs[k];
      if (auto here = place_here(*x, target)) {
        moved[k] = std::move(*here);
        continue;
      }
      exchanged.push_back({ready_shards(*x), x->sharding(), target, x->shape(), x->dtype()});
      which.push_back(k);
    }
    auto results = run_reshards(exchanged, ticket);
    for (std::size_t k = 0; k < results.size(); ++k) moved[which[k]] = std::move(results[k]);
    for (auto& each : moved) make_windows_fair(each);
  });
  for (std::size_t k = 0; k < legs.size(); ++k) {
    const auto& [x, target, leaf] = *legs[k];
    placed[leaf] = make_sharded_array(x->shape(), x->dtype(), target, true, std::move(moved[k].shards), std::move(moved[k].transfer));
  }
}

void put_legs(const std::vector<Leg>& legs, bool donate, std::vector<Array>& placed) {
  if (in_lockstep())
    for (const auto& leg : legs) compare_placements(*leg.x, leg.target, "device_put");
  std::vector<bool> done(legs.size(), false);
  for (std::size_t i = 0; i < legs.size(); ++i) {
    if (done[i]) continue;
    std::vector<const Leg*> group;
    for (std::size_t k = i; k < legs.size(); ++k)
      if (!done[k] && legs[k].from() == legs[i].from() && legs[k].to() == legs[i].to()) {
        group.push_back(&legs[k]);
        done[k] = true;
      }
    put_group(group, donate, placed);
  }
}

/// Where a leaf goes, checked: alive, the spec fits, there is room; absent where it stays.
std::optional<Sharding> target_of(const PathLeaf& leaf, const Target& placement) {
  const auto name = "tree" + leaf.path;
  std::optional<Sharding> target;
  if (const auto* device = std::get_if<Device>(&placement)) target = SingleDeviceSharding(*device);
  else if (const auto* sharding = std::get_if<Sharding>(&placement)) target = *sharding;
  try {
    if (target) check_placement(leaf.leaf, *target, "device_put", name);
    else check_alive(leaf.leaf, "device_put", name);
  } catch (const PlacementError& error) {
    throw PlacementError(fmt::format("device_put: leaf {}: {}", name, error.what()));
  }
  return target;
}

}  // namespace

}  // namespace detail

Tree device_put(const Tree& tree, const ShardingTree& target, PutOptions options) {
  const auto leaves = tree_flatten_with_path(tree);
  const auto targets = broadcast_prefix(target, tree, "device_put");
  std::vector<detail::Leg> legs;
  std::vector<Array> placed;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto& x = leaves[i].leaf;
    placed.push_back(x);
    const auto where = detail::target_of(leaves[i], targets[i]);
    if (where && !(x.committed() && x.sharding() == *where)) legs.push_back({&x, *where, i});
    else if (where && options.donate) placed.back() = detail::same_value(x);
  }
  detail::put_legs(legs, options.donate, placed);
  // Only now: a leaf that stands in the tree twice is donated once, after both its placements.
  if (options.donate)
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (!(placed[i].state() == leaves[i].leaf.state()) && !leaves[i].leaf.is_deleted())
        detail::donate_state(leaves[i].leaf, "donated to device_put (tree" + leaves[i].path + ")");
  return tree_unflatten(tree, placed);
}

}  // namespace meshwise

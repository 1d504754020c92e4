#include "meshwise/array/device_put.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "array/rehearsal.hpp"
#include "array/call.hpp"
#include "array/drain.hpp"
#include "array/lockstep.hpp"
#include "array/move.hpp"
#include "array/place.hpp"
#include "base/boxes.hpp"
#include "meshwise/plan/donation.hpp"
#include "meshwise/plan/propagation.hpp"
#include "meshwise/runtime/collectives.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/undo.hpp"
#include "meshwise/runtime/watch.hpp"

namespace meshwise {

namespace detail {

std::vector<LocalShard> place_uncommitted(const Array& x, const Sharding& target) {
  std::vector<LocalShard> shards;
  for (const auto position : local_positions(target.devices())) {
    const auto box = target.index_at(x.shape(), position);
    const auto twin = std::find_if(shards.begin(), shards.end(), [&](const LocalShard& s) { return target.index_at(x.shape(), s.position) == box; });
    LocalArray data = twin != shards.end() ? twin->data : uncommitted_box(x, box);
    shards.push_back({position, std::move(data)});
  }
  return shards;
}

namespace {

}  // namespace

std::vector<LocalShard> own_windows(const Array& x, const Sharding& target) {
  std::vector<LocalShard> shards;
  for (const auto& shard : ready_shards(x)) {
    const auto held = x.sharding().index_at(x.shape(), shard.position), wanted = target.index_at(x.shape(), shard.position);
    shards.push_back({shard.position, shard.data.box(relative(wanted, held))});
  }
  return shards;
}

std::uint64_t hash_placement(const Array& x, const Sharding& target) {
  const auto rule = x.state()->kind == State::Kind::recipe && !x.is_deleted() ? x.state()->recipe.hash() : 0;
  return mix(mix(hash_type(x), target.hash()), rule);
}

void check_placement(const Array& x, const Sharding& target, std::string_view operation, std::string_view argument) {
  check_alive(x, operation, argument);
  target.check_fits(x.shape());
  check_room(operation, x.dtype(), x.shape(), target);
}

void make_windows_fair(Moved& moved) {
  if (moved.transfer != nullptr) return;
  for (auto& shard : moved.shards) {
    if (window_is_fair(shard.data)) continue;
    LocalArray own(shard.data.shape(), shard.data.dtype());
    copy_values(shard.data, own);
    shard.data = std::move(own);
  }
}

std::optional<Moved> place_here(const Array& x, const Sharding& target) {
  if (!x.committed()) return Moved{place_uncommitted(x, target), nullptr};
  // Placed alike already: the blocks are shared, a transfer in flight included.
  if (x.sharding().is_equivalent_to(target, x.ndim())) return Moved{x.state()->shards, x.state()->transfer};
  if (x.sharding().is_fully_replicated() && x.sharding().devices() == target.devices()) return Moved{own_windows(x, target), nullptr};
  return std::nullopt;
}

Moved place(const Array& x, const Sharding& target, const Ticket& ticket) {
  if (auto here = place_here(x, target)) return std::move(*here);
  return run_reshard(ready_shards(x), x.sharding(), target, x.shape(), x.dtype(), ticket);
}

std::vector<LocalShard> bring(const Array& x, const Sharding& target, const Ticket& ticket) {
  auto moved = place(x, target, ticket);
  settle(moved.shards, moved.transfer);
  return std::move(moved.shards);
}

namespace {

std::string move_words(const Array& x, const Sharding& target) {
  return fmt::format("{} {}", type_string(x.dtype(), x.shape()), reshard_words(x.sharding(), target));
}

Array put(const Array& x, const Sharding& target, PutOptions options, std::string_view operation, const std::source_location& caller = {}) {
  if (rehearsing()) {
    check_placement(x, target, operation, "x");
    const auto* const file = std::strrchr(caller.file_name(), '/');
    auto where = caller.line() == 0 ? std::string() : fmt::format("{}:{}", file != nullptr ? file + 1 : caller.file_name(), caller.line());
    return rehearse_put(x, target, operation, [target, operation](std::span<const Operand> operands) { return put(*operands[0].array(), target, {}, operation); }, std::move(where));
  }
  if (in_lockstep()) compare_placements(x, target, operation);
  const Call call{operation, mix(mix(hash_text(operation), hash_placement(x, target)), options.donate ? 1 : 0), x.dtype(), &x.shape()};
  const auto* from = &x.sharding().devices();
  const auto* to = &target.devices();
  auto ticket = !x.committed() || *from == *to ? enter_call(call, {to}) : enter_call(call, {from, to});
  check_placement(x, target, operation, "x");
  const bool same = x.committed() && x.sharding() == target;
  if (same && !options.donate) return x;
  // What an agreement may have to give back is kept whole.
  const bool in_parts = options.donate && !in_agreement() && x.committed() && moves_in_parts(x.sharding(), target, x.shape(), static_cast<std::int64_t>(itemsize(x.dtype())));
  Moved moved;
  run_local_part(operation, [&] {
    moved = in_parts ? run_drain(x, target, ticket) : place(x, target, ticket);
    make_windows_fair(moved);
  });
  auto result = make_sharded_array(x.shape(), x.dtype(), target, true, std::move(moved.shards), std::move(moved.transfer));
  if (options.donate) donate_state(x, fmt::format("donated to {} ({})", operation, move_words(x, target)));
  return result;
}

}  // namespace
}  // namespace detail

Array device_put(const Array& x, const Sharding& target, PutOptions options, std::source_location where) {
  return detail::put(x, target, options, "device_put", where);
}

Array device_put(const Array& x, const Device& target, PutOptions options, std::source_location where) {
  return device_put(x, SingleDeviceSharding(target), options, where);
}

Array device_put(const Array& x, const Target& target, PutOptions options, std::source_location where) {
  if (const auto* device = std::get_if<Device>(&target)) return device_put(x, *device, options, where);
  if (const auto* sharding = std::get_if<Sharding>(&target)) return device_put(x, *sharding, options, where);
  detail::check_alive(x, "device_put", "x");
  return x;
}

RootOnly root_only(const LocalArray& data, const Shape& shape, Dtype dtype, std::int64_t root) { return {data, shape, dtype, root}; }

Array device_put(const RootOnly& data, const Sharding& target) {
  if (data.root < 0 || data.root >= process_count())
    throw PlacementError(fmt::format("device_put: root_only names rank {}, there are {} ranks (0 to {})", data.root, process_count(), process_count() - 1));
  target.check_fits(data.shape);
  std::vector<detail::LocalShard> shards;
  agree([&] {
    if (process_index() != data.root) return;
    if (data.data.dtype() != data.dtype)
      throw DtypeError(fmt::format("device_put: root_only data on rank {} is {}[{}], {}[{}] was announced", data.root, name(data.data.dtype()),
                                   joined(data.data.shape()), name(data.dtype), joined(data.shape)));
    if (data.data.shape() != data.shape)
      throw ShapeError(fmt::format("device_put: root_only data on rank {} has shape {}, {} was announced", data.root, to_string(data.data.shape()),
                                   to_string(data.shape)));
    LocalArray own(data.shape, data.dtype);
    copy_values(data.data, own);
    shards.push_back({0, std::move(own)});
  });
  const auto all = devices();
  const SingleDeviceSharding home(all[data.root * all.devices_per_rank()]);
  return device_put(detail::make_sharded_array(data.shape, data.dtype, home, true, std::move(shards)), target);
}

namespace {

void check_same_devices(const Array& x, const Sharding& target, std::string_view operation) {
  if (!x.committed() || x.sharding().devices() == target.devices()) return;
  throw CommitmentError(fmt::format("{}: argument x is {} on {} with device ids {}, the target is on device ids {}: {} changes the layout over the "
                                    "same devices in the same order; use device_put to move to other devices or another order",
                                    operation, type_string(x.dtype(), x.shape()), to_string(x.sharding().spec()), to_string(x.sharding().devices()),
                                    to_string(target.devices()), operation));
}

Sharding beside(const Array& x, const PartitionSpec& spec, std::string_view operation) {
  if (!x.sharding().is_single_device()) return NamedSharding(x.sharding().mesh(), spec);
  if (spec.size() > 0)
    throw PlacementError(fmt::format("{}: argument x is on one device, {}, which has no mesh axes for {}; device_put it to a NamedSharding", operation,
                                     to_string(x.sharding()), to_string(spec)));
  return x.sharding();
}

}  // namespace

Array reshard(const Array& x, const Sharding& target) {
  check_same_devices(x, target, "reshard");
  return detail::put(x, target, {}, "reshard");
}

Array reshard(const Array& x, const PartitionSpec& spec) { return reshard(x, beside(x, spec, "reshard")); }

Array with_sharding_constraint(const Array& x, const Sharding& target) {
  constexpr const char* name = "with_sharding_constraint";
  check_same_devices(x, target, name);
  if (!x.committed() || !x.sharding().mesh().is_explicit()) return detail::put(x, target, {}, name);
  detail::check_alive(x, name, "x");
  target.check_fits(x.shape());
  if (!(x.sharding().mesh() == target.mesh()) || !(x.sharding().spec().padded(x.ndim()) == target.spec().padded(x.ndim())))
    throw ShardingTypeError(fmt::format("{}: on Explicit axes it asserts, and x is {} on {}, not {} on {}. Cure: reshard x to the sharding you want.", name,
                                        type_string(x), to_string(x.sharding().mesh()), type_string(x.dtype(), x.shape(), target.spec()), to_string(target.mesh())));
  return x;
}

Array with_sharding_constraint(const Array& x, const PartitionSpec& spec) { return with_sharding_constraint(x, beside(x, spec, "with_sharding_constraint")); }

}  // namespace meshwise

#include <fmt/format.h>

#include "array/call.hpp"
#include "array/place.hpp"
#include "meshwise/array/device_put.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/watch.hpp"

namespace meshwise {

namespace detail {

namespace {

/// Every rank's first device, whole arrays on each: where device_get brings a value.
Sharding every_rank() {
  static const auto* sharding = [] {
    const auto all = devices();
    std::vector<std::int64_t> ids;
    for (std::int64_t rank = 0; rank < process_count(); ++rank) ids.push_back(rank * all.devices_per_rank());
    const auto mesh = make_mesh({process_count()}, {"rank"}, {.devices = DeviceList(ids)});
    return new Sharding(NamedSharding(mesh, PartitionSpec{}));  // immortal, as the runtime is
  }();
  return *sharding;
}

LocalArray get(const Array& x, const Sharding& target, std::string_view operation) {
  const Call call{operation, mix(mix(hash_text(operation), hash_type(x)), target.hash()), x.dtype(), &x.shape()};
  auto ticket = enter_world_call(call);
  check_placement(x, target, operation, "x");
  LocalArray value;
  run_local_part(operation, [&] {
    value = LocalArray(Shape{0}, x.dtype());
    if (x.committed()) {
      auto moved = place(x, target, ticket);
      settle(moved.shards, moved.transfer);
      if (!moved.shards.empty()) value = moved.shards.front().data;
    } else if (!local_positions(target.devices()).empty()) {
      value = LocalArray(x.shape(), x.dtype());
      copy_values(uncommitted_box(x, Index::whole(x.shape())), value);
    }
  });
  return value;
}

}  // namespace

LocalArray get_everywhere(const Array& x, std::string_view operation) { return get(x, every_rank(), operation); }

Array same_value(const Array& x) { return Array(std::make_shared<State>(*x.state())); }

}  // namespace detail

LocalArray device_get(const Array& x) { return detail::get_everywhere(x, "device_get"); }

LocalArray device_get(const Array& x, std::int64_t root) {
  if (root < 0 || root >= process_count())
    throw PlacementError(fmt::format("device_get: rank {} does not exist, there are {} ranks (0 to {})", root, process_count(), process_count() - 1));
  const auto all = devices();
  return detail::get(x, SingleDeviceSharding(all[root * all.devices_per_rank()]), "device_get");
}

}  // namespace meshwise

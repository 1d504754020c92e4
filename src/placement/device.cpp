#include "meshwise/placement/device.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include <fmt/format.h>

#include "meshwise/base/hash.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise {

// A list is a run (start, start + stride, ...) whenever its ids allow, so that equal lists have one representation.
struct DeviceList::Data {
  std::int64_t devices_per_rank = 1;
  std::int64_t count = 0;
  std::int64_t start = 0, stride = 1;
  std::vector<std::int64_t> ids{};  // empty for a run
  std::int64_t least = 0, greatest = 0;
  std::uint64_t hash = 0;
  mutable std::once_flag indexed{};
  mutable std::unordered_map<std::int64_t, std::int64_t> positions{};
  mutable void* slot = nullptr;

  bool is_run() const { return ids.empty(); }
  std::int64_t id(std::int64_t position) const { return is_run() ? start + stride * position : ids[static_cast<std::size_t>(position)]; }
};

namespace {

using Data = DeviceList::Data;

struct World {
  bool known = false;
  std::int64_t rank = -1;
  std::int64_t devices_per_rank = 1;
  DeviceList all{};
};

// Never destroyed: static arrays ask for devices after main has returned.
World& world() {
  static auto* const instance = new World;
  return *instance;
}

std::shared_ptr<const Data> run(std::int64_t start, std::int64_t stride, std::int64_t count, std::int64_t devices_per_rank) {
  auto data = std::make_shared<Data>();
  data->devices_per_rank = devices_per_rank;
  data->count = count;
  data->start = count == 0 ? 0 : start;
  data->stride = count < 2 ? 1 : stride;
  const auto end = count == 0 ? 0 : start + data->stride * (count - 1);
  data->least = std::min(data->start, end);
  data->greatest = std::max(data->start, end);
  data->hash = detail::mix(detail::mix(detail::mix(1, data->start), data->stride), count);
  return data;
}

std::shared_ptr<const Data> listed(std::vector<std::int64_t> ids, std::int64_t devices_per_rank) {
  const auto count = static_cast<std::int64_t>(ids.size());
  const auto stride = count < 2 ? 1 : ids[1] - ids[0];
  bool is_run = stride != 0;
  for (std::size_t i = 1; i < ids.size() && is_run; ++i) is_run = ids[i] - ids[i - 1] == stride;
  if (is_run) return run(count == 0 ? 0 : ids[0], stride, count, devices_per_rank);
  auto data = std::make_shared<Data>();
  data->devices_per_rank = devices_per_rank;
  data->count = count;
  const auto [least, greatest] = std::minmax_element(ids.begin(), ids.end());
  data->least = *least;
  data->greatest = *greatest;
  data->hash = detail::mix(2, count);
  for (const auto id : ids) data->hash = detail::mix(data->hash, id);
  data->ids = std::move(ids);
  return data;
}

const World& known_world() {
  if (!world().known)
    throw PlacementError(
        "devices: no Environment exists yet, so nobody knows which devices there are; make a meshwise::Environment "
        "first (to plan without one: DeviceList::virtual_devices)");
  return world();
}

std::shared_ptr<const Data> of_world(std::vector<std::int64_t> ids) {
  const auto& all = known_world().all;
  for (const auto id : ids)
    if (id < 0 || id >= all.size())
      throw PlacementError(fmt::format("device list {}: there is no device {}; the ids are 0 to {}",
                                       fmt::format("[{}]", fmt::join(ids, ", ")), id, all.size() - 1));
  return listed(std::move(ids), world().devices_per_rank);
}

std::int64_t devices_per_rank_of(const Device& device) {
  if (device.rank > 0) return (device.id - device.local_index) / device.rank;
  return std::max(world().known ? world().devices_per_rank : 1, device.local_index + 1);
}

void check_list(const std::shared_ptr<const Data>& data) {
  if (!data) throw PlacementError("this DeviceList was never set; ask devices() for the world's");
}

}  // namespace

std::string to_string(const Device& device) { return fmt::format("CpuDevice(id={})", device.id); }

DeviceList::DeviceList(std::initializer_list<std::int64_t> ids) : data_(of_world(ids)) {}
DeviceList::DeviceList(const std::vector<std::int64_t>& ids) : data_(of_world(ids)) {}
DeviceList::DeviceList(const Device& device) : data_(run(device.id, 1, 1, devices_per_rank_of(device))) {}

DeviceList DeviceList::virtual_devices(std::int64_t count, std::int64_t devices_per_rank) {
  if (count < 0 || devices_per_rank < 1)
    throw PlacementError(fmt::format("virtual_devices: {} devices, {} to a rank; at least 0 and 1 are needed", count, devices_per_rank));
  return DeviceList(run(0, 1, count, devices_per_rank));
}

std::int64_t DeviceList::size() const { return data_ ? data_->count : 0; }

std::int64_t DeviceList::id(std::int64_t position) const {
  if (position < 0 || position >= size())
    throw IndexError(
        fmt::format("devices: position {} of {}, which holds {}; start the program with more ranks, or set "
                    "MESHWISE_DEVICES_PER_RANK",
                    position, to_string(*this), size()));
  return data_->id(position);
}

Device DeviceList::operator[](std::int64_t position) const {
  const auto i = id(position);
  return {i, i / data_->devices_per_rank, i % data_->devices_per_rank};
}

std::vector<std::int64_t> DeviceList::ids() const {
  std::vector<std::int64_t> out(static_cast<std::size_t>(size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = data_->id(static_cast<std::int64_t>(i));
  return out;
}

std::int64_t DeviceList::devices_per_rank() const {
  check_list(data_);
  return data_->devices_per_rank;
}

std::optional<std::int64_t> DeviceList::position_of(std::int64_t device_id) const {
  if (size() == 0 || device_id < data_->least || device_id > data_->greatest) return std::nullopt;
  if (data_->is_run()) {
    const auto offset = device_id - data_->start;
    if (offset % data_->stride != 0) return std::nullopt;
    return offset / data_->stride;
  }
  std::call_once(data_->indexed, [&] {
    data_->positions.reserve(data_->ids.size());
    for (std::int64_t i = 0; i < data_->count; ++i) data_->positions.emplace(data_->id(i), i);
  });
  const auto found = data_->positions.find(device_id);
  if (found == data_->positions.end()) return std::nullopt;
  return found->second;
}

std::optional<std::int64_t> DeviceList::repeated_id() const {
  if (size() == 0 || data_->is_run()) return std::nullopt;
  for (std::int64_t i = 0; i < data_->count; ++i)
    if (position_of(data_->id(i)) != i) return data_->id(i);
  return std::nullopt;
}

bool DeviceList::all_on_rank(std::int64_t rank) const {
  return size() > 0 && data_->least / data_->devices_per_rank == rank && data_->greatest / data_->devices_per_rank == rank;
}

DeviceList DeviceList::first(std::int64_t count) const { return slice(0, count); }
DeviceList DeviceList::last(std::int64_t count) const { return slice(size() - count, size()); }

DeviceList DeviceList::slice(std::int64_t start, std::int64_t stop) const {
  check_list(data_);
  if (start < 0 || stop < start || stop > size())
    throw IndexError(
        fmt::format("devices: the positions {} to {} are not all in {}, which holds {}", start, stop, to_string(*this), size()));
  if (start == 0 && stop == size()) return *this;
  if (data_->is_run()) return DeviceList(run(data_->start + data_->stride * start, data_->stride, stop - start, data_->devices_per_rank));
  return DeviceList(listed({data_->ids.begin() + start, data_->ids.begin() + stop}, data_->devices_per_rank));
}

DeviceList DeviceList::reversed() const {
  check_list(data_);
  if (size() == 0) return *this;
  if (data_->is_run()) return DeviceList(run(data_->id(size() - 1), -data_->stride, size(), data_->devices_per_rank));
  return DeviceList(listed({data_->ids.rbegin(), data_->ids.rend()}, data_->devices_per_rank));
}

DeviceList DeviceList::pick(const std::vector<std::int64_t>& ids) const {
  check_list(data_);
  for (const auto id : ids)
    if (!position_of(id)) throw PlacementError(fmt::format("devices: pick of device {}, which is not in {}", id, to_string(*this)));
  return DeviceList(listed(ids, data_->devices_per_rank));
}

std::uint64_t DeviceList::hash() const { return data_ ? data_->hash : 0; }

bool operator==(const DeviceList& a, const DeviceList& b) {
  if (a.data_ == b.data_) return true;
  if (!a.data_ || !b.data_) return false;
  const Data &x = *a.data_, &y = *b.data_;
  if (x.hash != y.hash || x.count != y.count || x.start != y.start || x.stride != y.stride || x.ids != y.ids) return false;
  // How many devices a rank has cannot be told from devices of rank 0, and does not matter for them.
  return x.devices_per_rank == y.devices_per_rank || x.greatest < std::min(x.devices_per_rank, y.devices_per_rank);
}

void*& DeviceList::runtime_slot() const {
  check_list(data_);
  return data_->slot;
}

std::string to_string(const DeviceList& devices) {
  constexpr std::int64_t longest = 64, shown = 8;
  const auto n = devices.size();
  std::string text = "[";
  for (std::int64_t i = 0; i < n; ++i) {
    if (n > longest && i == shown) {
      text += ", ...";
      i = n - shown;
    }
    text += fmt::format("{}{}", i == 0 ? "" : ", ", devices.id(i));
  }
  return text + "]";
}

DeviceList devices() { return known_world().all; }

namespace detail {

void set_world(std::int64_t device_count, std::int64_t devices_per_rank, std::int64_t this_rank) {
  auto all = DeviceList::virtual_devices(device_count, devices_per_rank);
  world() = {true, this_rank, devices_per_rank, std::move(all)};
}

std::int64_t this_rank() { return world().rank; }

}  // namespace detail
}  // namespace meshwise

#include "meshwise/array/array.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/move.hpp"
#include "array/state.hpp"
#include "meshwise/array/device_put.hpp"
#include "meshwise/plan/propagation.hpp"
#include "meshwise/runtime/environment.hpp"

namespace meshwise {

using detail::State;

const LocalArray& Shard::data() const {
  if (!data_)
    throw NotAddressableError(fmt::format("shard: device {} belongs to rank {}, this is rank {}; device_get brings a whole array to every rank", device_.id,
                                          device_.rank, process_index()));
  return *data_;
}

const std::shared_ptr<State>& Array::state() const {
  if (state_ == nullptr) throw Error("this Array holds no array: it was default-constructed or moved from; assign one first");
  return state_;
}

const Shape& Array::shape() const { return state()->shape; }
Dtype Array::dtype() const { return state()->dtype; }
std::int64_t Array::ndim() const { return shape().ndim(); }
std::int64_t Array::size() const { return shape().num_elements(); }
std::int64_t Array::itemsize() const { return static_cast<std::int64_t>(meshwise::itemsize(dtype())); }
std::int64_t Array::nbytes() const { return size() * itemsize(); }
const Sharding& Array::sharding() const { return state()->sharding; }
bool Array::committed() const { return state()->committed; }
bool Array::is_fully_replicated() const { return sharding().is_fully_replicated(); }
bool Array::is_fully_addressable() const { return sharding().is_fully_addressable(); }
bool Array::is_deleted() const { return !state()->deleted_by.empty(); }

std::int64_t Array::on_device_bytes() const {
  return sharding().shard_shape(shape()).num_elements() * itemsize() * sharding().devices().size();
}

bool Array::is_ready() const { return state()->transfer == nullptr || state()->transfer->done(); }

void Array::free() {
  if (!is_deleted()) detail::delete_state(*this, "freed");
}

std::vector<Shard> Array::addressable_shards() const {
  detail::check_running("addressable_shards");
  detail::check_alive(*this, "addressable_shards", "x");
  std::vector<Shard> out;
  const auto& devices = sharding().devices();
  if (state()->kind == State::Kind::shards || state()->kind == State::Kind::traced) {
    for (const auto& shard : detail::ready_shards(*this))
      out.emplace_back(devices[shard.position], sharding().index_at(shape(), shard.position), sharding().replica_id(shape(), shard.position), shard.data);
  } else if (devices[0].rank == process_index()) {
    out.emplace_back(devices[0], Index::whole(shape()), 0, detail::uncommitted_box(*this, Index::whole(shape())));
  }
  return out;
}

LocalArray Array::addressable_data(std::int64_t shard) const {
  const auto shards = addressable_shards();
  if (shard < 0 || shard >= static_cast<std::int64_t>(shards.size()))
    throw IndexError(fmt::format("addressable_data: shard {} of {}: rank {} has {} of the {} shards", shard, type_string(*this), process_index(), shards.size(),
                                 sharding().devices().size()));
  return shards[static_cast<std::size_t>(shard)].data();
}

std::vector<Shard> Array::global_shards() const {
  auto mine = addressable_shards();
  std::vector<Shard> out;
  auto next = mine.begin();
  for (std::int64_t position = 0; const auto device : sharding().devices()) {
    if (next != mine.end() && next->device() == device) out.push_back(std::move(*next++));
    else out.emplace_back(device, sharding().index_at(shape(), position), sharding().replica_id(shape(), position), std::nullopt);
    ++position;
  }
  return out;
}

LocalArray Array::local_value() const { return whole_value(dtype()); }

LocalArray Array::whole_value(Dtype wanted) const {
  detail::check_running("view");
  detail::check_alive(*this, "view", "x");
  if (wanted != dtype())
    throw DtypeError(fmt::format("view<{0}>: the array is {1}; ask for {2}, or convert with astype({0})", name(wanted), type_string(*this), name(dtype())));
  if (!committed()) return detail::uncommitted_box(*this, Index::whole(shape()));
  const auto& shards = detail::ready_shards(*this);
  for (const auto& shard : shards)
    if (shard.data.shape() == shape()) return shard.data;
  std::vector<Index> boxes;
  std::int64_t held = 0;
  for (const auto& shard : shards) {
    const auto box = sharding().index_at(shape(), shard.position);
    if (std::find(boxes.begin(), boxes.end(), box) != boxes.end()) continue;
    boxes.push_back(box);
    held += box.num_elements();
  }
  if (shards.empty() || held != size()) {
    std::string here = "nothing";
    if (!shards.empty()) here = to_string(sharding().index_at(shape(), shards.front().position));
    throw NotAddressableError(fmt::format("view: rank {} holds {} of {} under {} on devices {}, not the whole value; device_get(x) brings it to every rank, "
                                          "addressable_shards() has this rank's part",
                                          process_index(), here, type_string(*this), to_string(sharding().spec()), to_string(sharding().devices())));
  }
  LocalArray whole(shape(), dtype());
  for (const auto& shard : shards) copy_values(shard.data, whole.box(sharding().index_at(shape(), shard.position)));
  return whole;
}

LocalArray Array::item_bytes(Dtype wanted) const {
  if (size() != 1) throw ShapeError(fmt::format("item: {} has {} elements, not one; index it, or reduce it, first", type_string(*this), size()));
  if (wanted != dtype())
    throw DtypeError(fmt::format("item<{0}>: the array is {1}; ask for {2}, or convert with astype({0})", name(wanted), type_string(*this), name(dtype())));
  return detail::get_everywhere(*this, "item").reshaped({});
}

std::string type_string(const Array& array) { return type_string(array.dtype(), array.shape(), array.sharding().spec()); }

const Array& block_until_ready(const Array& x) {
  detail::check_running("block_until_ready");
  detail::check_alive(x, "block_until_ready", "x");
  detail::ready_shards(x);
  return x;
}

}  // namespace meshwise

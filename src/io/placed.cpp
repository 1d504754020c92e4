#include "io/placed.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/boxes.hpp"
#include "io/draft.hpp"
#include "meshwise/array/device_put.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/runtime/environment.hpp"

namespace meshwise::detail {

namespace {

constexpr std::int64_t longest_slow_run = 1 << 15, few_runs = 256, most_copied = 8 << 20;
constexpr std::size_t longest_words = 600;

Region region_of(const std::string& call, const Found& found, const io::ReadOptions& options) {
  const auto ndim = static_cast<std::size_t>(found.shape.ndim());
  const auto refuse = [&](const std::string& why) { throw IndexError(fmt::format("{}: {}; stored is {}", call, why, type_text(found))); };
  const auto box = options.box.ndim() == 0 ? Index::whole(found.shape) : options.box;
  if (static_cast<std::size_t>(box.ndim()) != ndim) refuse(fmt::format("the box {} has {} axes", to_string(box), box.ndim()));
  if (!options.steps.empty() && options.steps.size() != ndim) refuse(fmt::format("there are {} steps", options.steps.size()));
  Region region;
  for (std::int64_t axis = 0; axis < found.shape.ndim(); ++axis) {
    const auto [start, stop] = box[axis];
    const auto step = options.steps.empty() ? 1 : options.steps[static_cast<std::size_t>(axis)];
    if (start < 0 || stop < start || stop > found.shape[axis])
      refuse(fmt::format("the box {} is not within the array: axis {} has [{}:{}] of {}", to_string(box), axis, start, stop,
                         found.shape[axis]));
    if (step < 1) refuse(fmt::format("step {} of axis {} is not above 0", step, axis));
    region.shape.push_back((stop - start) / step + ((stop - start) % step != 0));
    region.start.push_back(start);
    region.step.push_back(step);
  }
  return region;
}

}  // namespace

std::string type_text(const Found& found) { return fmt::format("{}[{}]", name(found.dtype), joined(found.shape)); }

void pack(PackedText& text, const Found& found) {
  text.add(found.dtype);
  text.add(found.shape);
}

Found unpack_found(UnpackedText& text) {
  const auto dtype = text.dtype();
  return {dtype, text.shape()};
}

std::optional<Sharding> sharding_of(const Target& target) {
  if (const auto* sharding = std::get_if<Sharding>(&target)) return *sharding;
  if (const auto* device = std::get_if<Device>(&target)) return SingleDeviceSharding(*device);
  return {};
}

Placed::Placed(const std::string& call, const Found& found, const Target& target, const io::ReadOptions& options)
    : dtype_(found.dtype), region_(region_of(call, found, options)), sharding_(sharding_of(target)) {
  if (!sharding_) return;
  if (const auto entries = sharding_->spec().size(); entries > found.shape.ndim())
    throw CheckpointError(fmt::format("{}: the dataset is {}, so a spec has at most {} entries, and {} has {}", call, type_text(found),
                                      found.shape.ndim(), to_string(sharding_->spec()), entries));
}

bool Placed::is_needed_here() const {
  if (!sharding_) return true;
  for (const auto& device : sharding_->devices())
    if (device.rank == process_index()) return true;
  return false;
}

void Placed::read(const std::function<LocalArray(const Region&)>& values) {
  if (!sharding_) {
    everywhere_ = values(region_);
    return;
  }
  std::vector<Index> boxes;
  const auto& devices = sharding_->devices();
  for (std::int64_t position = 0; position < devices.size(); ++position) {
    if (devices[position].rank != process_index()) continue;
    boxes.push_back(sharding_->index_at(region_.shape, position));
    const auto same = static_cast<std::size_t>(std::find(boxes.begin(), boxes.end(), boxes.back()) - boxes.begin());
    shards_.push_back({position, same + 1 < boxes.size() ? shards_[same].data : values(part(boxes.back()))});
  }
}

Region Placed::part(const Index& box) const {
  Region part{box.shape(), region_.start, region_.step};
  for (std::size_t d = 0; d < part.start.size(); ++d) part.start[d] += box[static_cast<std::int64_t>(d)].start * part.step[d];
  return part;
}

Array Placed::array() {
  if (!sharding_) return make_everywhere_array(std::move(everywhere_));
  return make_sharded_array(region_.shape, dtype_, *sharding_, true, std::move(shards_));
}

std::string words_of(const Sharding& sharding) {
  const auto& devices = sharding.devices();
  // The middle of a long list is not printed, so its hash is.
  const auto rest = devices.size() > 64 ? fmt::format(" ({:016x})", devices.hash()) : std::string();
  return fmt::format("{} over {}{}", to_string(sharding), to_string(devices), rest);
}

std::string words_of(const ShardingTree& targets) {
  if (targets.is_leaf()) {
    if (const auto* sharding = std::get_if<Sharding>(&targets.leaf())) return words_of(*sharding);
    if (const auto* device = std::get_if<Device>(&targets.leaf())) return fmt::format("device {}", device->id);
  }
  std::string text;
  for (const auto& [key, entry] : targets.entries()) text += fmt::format("{}'{}': {}", text.empty() ? "" : ", ", key, words_of(entry));
  for (const auto& item : targets.items()) text += (text.empty() ? "" : ", ") + words_of(item);
  return targets.kind() == ShardingTree::Kind::dict ? "{" + text + "}" : targets.size() > 0 ? "[" + text + "]" : "nowhere in particular";
}

std::string words_of(const io::ReadOptions& options) {
  std::string text;
  if (options.box.ndim() > 0) text += fmt::format(", box {}", to_string(options.box));
  if (!options.steps.empty()) text += fmt::format(", steps ({})", fmt::join(options.steps, ", "));
  return text;
}

std::string shortened(const std::string& text) {
  if (text.size() <= longest_words) return text;
  return fmt::format("{}... ({} characters, {:016x})", text.substr(0, longest_words / 2), text.size(), hash_text(text));
}

Array in_long_runs(const Array& x) {
  if (x.state()->kind != State::Kind::shards) return x;
  const auto devices = x.sharding().devices();
  const auto shard = x.sharding().shard_shape(x.shape());
  const auto run = run_length(x.shape(), Index::whole(shard));
  const auto run_bytes = run * x.itemsize();
  if (run == 0 || run_bytes >= longest_slow_run || shard.num_elements() / run <= few_runs) return x;
  std::int64_t axis = 0;
  while (axis < x.ndim() && x.shape()[axis] < devices.size()) ++axis;
  std::vector<SpecEntry> entries(static_cast<std::size_t>(axis == x.ndim() ? 0 : axis));
  entries.emplace_back("rows");
  Array rows;
  agree([&] { rows = device_put(x, NamedSharding(make_mesh({devices.size()}, {"rows"}, {.devices = devices}), PartitionSpec(entries))); });
  return rows;
}

void cut(const Index& box, const std::function<bool(const Index&)>& small_enough, const std::function<void(const Index&)>& f) {
  if (box.empty()) return;
  std::int64_t axis = 0;
  while (axis < box.ndim() && box[axis].size() == 1) ++axis;
  if (axis == box.ndim() || small_enough(box)) return f(box);
  auto half = box;
  half[axis].stop = box[axis].start + box[axis].size() / 2;
  cut(half, small_enough, f);
  half[axis] = {half[axis].stop, box[axis].stop};
  cut(half, small_enough, f);
}

void for_each_piece(const Array& x, const std::function<void(const Index&, const LocalArray&)>& f) {
  const auto can_be_copied = [&](const Index& box) { return box.num_elements() * x.itemsize() <= most_copied; };
  if (x.state()->kind != State::Kind::shards) {  // every rank has the values; a recipe makes a few at a time
    if (process_index() == 0)
      cut(Index::whole(x.shape()), can_be_copied, [&](const Index& box) { f(box, uncommitted_box(x, box).contiguous()); });
    return;
  }
  for (const auto& shard : x.addressable_shards()) {
    if (shard.replica_id() != 0 || shard.index().empty()) continue;
    const auto& values = shard.data();
    if (values.is_contiguous()) {
      f(shard.index(), values);
      continue;
    }
    cut(Index::whole(values.shape()), can_be_copied,
        [&](const Index& box) { f(moved_to(box, shard.index()), values.box(box).contiguous()); });
  }
}

std::vector<std::int64_t> writing_ranks(const Array& x) {
  if (x.size() == 0) return {};
  if (x.state()->kind != State::Kind::shards) return {0};
  std::set<std::int64_t> ranks;
  const auto& devices = x.sharding().devices();
  for (std::int64_t position = 0; position < devices.size(); ++position)
    if (!x.sharding().index_at(x.shape(), position).empty() && x.sharding().replica_id(x.shape(), position) == 0)
      ranks.insert(devices[position].rank);
  return {ranks.begin(), ranks.end()};
}

}  // namespace meshwise::detail

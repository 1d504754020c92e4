#include "array/move.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "array/move_plan.hpp"
#include "meshwise/runtime/environment.hpp"

namespace meshwise::detail {

namespace {

constexpr std::int64_t small_window = 4096;  // bytes that are copied sooner than they keep a large block alive

bool is_fair(std::int64_t bytes, std::size_t block_bytes, bool contiguous) {
  return bytes == 0 || 2 * bytes >= static_cast<std::int64_t>(block_bytes) || (contiguous && bytes > small_window);
}

/// A plan with the addresses of some arrays.
class Run {
 public:
  Run(const MovePlan& plan, std::span<const std::span<const LocalShard>> sources, Dtype dtype) : plan_(plan), sources_(sources), dtype_(dtype) {}

  Moved run(const std::byte* fill, const LocalWriter& writer, const Ticket& ticket) {
    for (const auto& shard : plan_.shards) make_shard(shard, fill, writer);
    std::vector<Exchange> sends, receives;
    sends.reserve(plan_.sends.size());
    receives.reserve(plan_.receives.size());
    for (const auto& peer : plan_.sends) sends.push_back(exchange(peer));
    for (const auto& peer : plan_.receives) receives.push_back(exchange(peer));
    std::vector<LocalCopy> copies;
    copies.reserve(plan_.copies.size());
    for (const auto& [from, to] : plan_.copies) copies.push_back({box(from), box(to)});
    if (!sends.empty() || !receives.empty()) {
      for (const auto& source : sources_)
        for (const auto& shard : source) keep_.push_back(shard.data.block());
      for (const auto& shard : moved_.shards)
        if (shard.lent < 0) keep_.push_back(shard.data.block());
    }
    moved_.transfer = post(ticket, std::move(sends), std::move(receives), std::move(keep_), std::move(copies));
    return std::move(moved_);
  }

 private:
  void make_shard(const PlannedShard& shard, const std::byte* fill, const LocalWriter& writer) {
    switch (shard.way) {
      case PlannedShard::Way::window:
        moved_.shards.push_back({shard.position, window(shard.window, shard.shape)});
        return;
      case PlannedShard::Way::twin:
        moved_.shards.push_back({shard.position, moved_.shards[shard.twin].data});
        return;
      case PlannedShard::Way::borrow:
        moved_.shards.push_back({shard.position, LocalArray(shard.shape, dtype_, nullptr, 0, row_major_strides(shard.shape)), shard.lent});
        return;
      case PlannedShard::Way::build:
        break;
    }
    LocalArray block(shard.shape, dtype_);
    if (shard.fill) fill_value(block, fill);
    if (writer) writer(shard.held, block);
    moved_.shards.push_back({shard.position, std::move(block)});
  }

  const LocalArray& data_of(const PlannedBox& planned) const {
    return planned.job < 0 ? moved_.shards[planned.shard].data : sources_[static_cast<std::size_t>(planned.job)][planned.shard].data;
  }

  /// The box's elements as a window on its block.
  LocalArray window(const PlannedBox& planned, const Shape& shape) const {
    const auto& data = data_of(planned);
    auto strides = planned.box.strides;
    for (auto& s : strides) s /= static_cast<std::int64_t>(planned.box.itemsize);
    return {shape, dtype_, data.block(), static_cast<std::size_t>(data.data() - data.block()->data() + planned.offset), std::move(strides)};
  }

  StridedBox box(const PlannedBox& planned) {
    StridedBox out = planned.box;
    const auto& data = data_of(planned);
    if (!data.block()) return out;  // another rank's block will be its memory
    if (planned.copied_first) {
      LocalArray own(Shape(out.extents), dtype_);
      copy_values(window(planned, own.shape()), own);
      out.strides = own.strides();
      for (auto& s : out.strides) s *= static_cast<std::int64_t>(out.itemsize);
      out.base = own.data();
      out.block = own.block().get();
      keep_.push_back(own.block());
      return out;
    }
    out.base = data.data() + planned.offset;
    out.block = data.block().get();
    return out;
  }

  Exchange exchange(const MovePlan::Peer& peer) {
    Exchange out{peer.rank, {}};
    out.boxes.reserve(peer.boxes.size());
    for (const auto& planned : peer.boxes) out.boxes.push_back(box(planned));
    return out;
  }

  const MovePlan& plan_;
  std::span<const std::span<const LocalShard>> sources_;
  Dtype dtype_;
  Moved moved_{};
  std::vector<std::shared_ptr<Block>> keep_{};
};

}  // namespace

bool window_is_fair(const StridedBox& window, std::size_t block_bytes) {
  return is_fair(window.bytes(), block_bytes, window.run_bytes() == window.bytes());
}

bool window_is_fair(const LocalArray& window) {
  return is_fair(window.nbytes(), window.block() ? window.block()->size() : 0, window.is_contiguous());
}

std::vector<std::int64_t> local_positions(const DeviceList& devices) {
  std::vector<std::int64_t> positions;
  const auto mine = local_devices();
  for (std::int64_t i = 0; i < mine.size(); ++i)
    if (const auto position = devices.position_of(mine.id(i))) positions.push_back(*position);
  std::sort(positions.begin(), positions.end());
  return positions;
}

void fill_value(const LocalArray& target, const std::byte* value) {
  const auto size = itemsize(target.dtype());
  if (target.size() == 0) return;
  std::vector<std::int64_t> strides(static_cast<std::size_t>(target.ndim()), 0);
  StridedBox from{const_cast<std::byte*>(value), target.shape().lengths(), strides, size};
  StridedBox to{target.data(), target.shape().lengths(), target.strides(), size};
  for (auto& s : to.strides) s *= static_cast<std::int64_t>(size);
  copy_box(from, to);
}

Moved run_moves(std::span<const MoveJob> jobs, const End& target, Dtype dtype, const std::byte* fill, const Ticket& ticket, const LocalWriter& writer) {
  const auto plan = plan_moves(jobs, target, dtype, fill != nullptr, static_cast<bool>(writer));
  std::vector<std::span<const LocalShard>> sources;
  for (const auto& job : jobs) sources.push_back(job.source);
  return Run(plan, sources, dtype).run(fill, writer, ticket);
}

std::string reshard_words(const Sharding& from, const Sharding& to) {
  return fmt::format("{} on {} to {} on {}", to_string(from.spec()), to_string(from.devices()), to_string(to.spec()), to_string(to.devices()));
}

Moved run_reshard(std::span<const LocalShard> source, const Sharding& from, const Sharding& to, const Shape& shape, Dtype dtype, const Ticket& ticket) {
  const auto plan = plan_reshard(source, from, to, shape, dtype);
  describe(ticket, plan->words);
  return Run(*plan, {&source, 1}, dtype).run(nullptr, {}, ticket);
}

}  // namespace meshwise::detail

#include "array/move.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "array/move_plan.hpp"
#include "array/run.hpp"
#include "meshwise/runtime/environment.hpp"

namespace meshwise::detail {

namespace {

constexpr std::int64_t small_window = 4096;  // bytes that are copied sooner than they keep a large block alive

bool is_fair(std::int64_t bytes, std::size_t block_bytes, bool contiguous) {
  return bytes == 0 || 2 * bytes >= static_cast<std::int64_t>(block_bytes) || (contiguous && bytes > small_window);
}

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
  PerAxis<std::int64_t> strides(static_cast<std::size_t>(target.ndim()), 0);
  StridedBox from{const_cast<std::byte*>(value), target.shape().lengths(), strides, size};
  StridedBox to{target.data(), target.shape().lengths(), target.strides(), size};
  for (auto& s : to.strides) s *= static_cast<std::int64_t>(size);
  copy_box(from, to);
}

Moved run_moves(std::span<const MoveJob> jobs, const End& target, Dtype dtype, const Ticket& ticket) {
  const auto plan = plan_moves(jobs, target, dtype, false, false);
  std::vector<std::span<const LocalShard>> sources;
  for (const auto& job : jobs) sources.push_back(job.source);
  return run_plan(plan, sources, dtype, nullptr, {}, ticket);
}

std::string reshard_words(const Sharding& from, const Sharding& to) {
  return fmt::format("{} on {} to {} on {}", to_string(from.spec()), to_string(from.devices()), to_string(to.spec()), to_string(to.devices()));
}

Moved run_reshard(std::span<const LocalShard> source, const Sharding& from, const Sharding& to, const Shape& shape, Dtype dtype, const Ticket& ticket) {
  const auto plan = plan_reshard(source, from, to, shape, dtype);
  describe(ticket, plan->words);
  return run_plan(*plan, {&source, 1}, dtype, nullptr, {}, ticket);
}

std::vector<Moved> run_reshards(std::span<const Reshard> all, const Ticket& ticket) {
  std::vector<std::shared_ptr<const MovePlan>> plans;
  for (const auto& one : all) plans.push_back(plan_reshard(one.source, one.from, one.to, one.shape, one.dtype));
  if (!plans.empty()) describe(ticket, plans.size() == 1 ? *plans[0]->words : fmt::format("{} arrays, the first {}", plans.size(), *plans[0]->words));
  Run run;
  for (std::size_t i = 0; i < all.size(); ++i) run.add(*plans[i], {&all[i].source, 1}, all[i].dtype, nullptr, {});
  return run.post(ticket);
}

}  // namespace meshwise::detail

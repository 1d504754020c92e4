// How much memory there is, how much is live, and who holds it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "meshwise/runtime/memory.hpp"
#include "runtime/arena_store.hpp"
#include "runtime/private_store.hpp"
#include "runtime/runtime.hpp"
#include "runtime/system_memory.hpp"

namespace meshwise::detail {
namespace {

constexpr std::size_t named_from = std::size_t{1} << 20;

}  // namespace

SizeClass size_class_for(std::uint64_t bytes) {
  if (bytes <= 512) {
    const auto steps = std::max<std::uint64_t>(1, (bytes + 63) / 64);
    return {static_cast<std::uint32_t>(steps - 1), steps * 64};
  }
  const std::uint64_t below = std::bit_floor(bytes - 1), step = below / 4, quarter = (bytes - 1 - below) / step;
  const auto doublings = static_cast<std::uint32_t>(std::countr_zero(below)) - 9;
  return {8 + 4 * doublings + static_cast<std::uint32_t>(quarter), below + (quarter + 1) * step};
}

std::uint64_t capacity_of(std::uint32_t size_class) {
  if (size_class < 8) return 64 * (std::uint64_t{size_class} + 1);
  const std::uint64_t below = std::uint64_t{512} << ((size_class - 8) / 4);
  return below + ((size_class - 8) % 4 + 1) * (below / 4);
}

std::int64_t pool_limit() {
  const Runtime& r = runtime();
  if (r.settings.pool_bytes >= 0) return r.settings.pool_bytes;
  static const std::int64_t quarter = memory_total() / 4;
  return quarter / static_cast<std::int64_t>(std::max<std::size_t>(1, r.node_ranks.size()));
}

namespace {
std::string limit_words() { return fmt::format("MESHWISE_MEMORY_LIMIT is {} bytes a rank", runtime().settings.memory_limit); }
}  // namespace

MemoryAccount& memory_account() {
  static auto* const immortal = new MemoryAccount;
  return *immortal;
}

void MemoryAccount::ask(std::size_t bytes) {
  const Runtime& r = runtime();
  if (r.rank == r.settings.failing_rank && made_.fetch_add(1) + 1 == r.settings.failing_allocation)
    throw refusal(bytes, "MESHWISE_FAIL_ALLOCATION asks for this failure");
  const std::int64_t limit = r.settings.memory_limit;
  if (limit > 0 && (bytes > static_cast<std::uint64_t>(limit) || live() + static_cast<std::int64_t>(bytes) > limit))
    throw refusal(bytes, limit_words());
  if (bytes > std::size_t{1} << 60) throw refusal(bytes, "no machine has that much");
}

bool MemoryAccount::system_has(std::uint64_t bytes) {
  constexpr std::int64_t worth_a_look = 1 << 20;
  const auto wanted = static_cast<std::int64_t>(bytes);
  const std::int64_t limit = runtime().settings.memory_limit;
  over_limit_ = limit > 0 && backed() + wanted > limit;
  if (over_limit_) return false;
  if (unlooked_.fetch_add(wanted) + wanted < worth_a_look) return true;
  unlooked_ = 0;
  return wanted <= memory_available();
}

bool MemoryAccount::take_from_system(std::uint64_t bytes, FunctionRef<bool(std::uint64_t offset, std::uint64_t bytes)> take) {
  constexpr std::uint64_t slice = std::uint64_t{32} << 20;  // of a rank: together less than what is left to the kernel
  if (!system_has(bytes)) return false;
  for (std::uint64_t offset = 0; offset < bytes; offset += slice) {
    if (offset > 0 && static_cast<std::int64_t>(bytes - offset) > memory_available()) return false;
    if (!take(offset, std::min(slice, bytes - offset))) return false;
  }
  return true;
}

void MemoryAccount::shift(std::int64_t bytes) {
  const std::int64_t now = live_ += bytes;
  for (auto before = peak_.load(); before < now && !peak_.compare_exchange_weak(before, now);) {
  }
}

void MemoryAccount::add(const Block& block) {
  shift(static_cast<std::int64_t>(block.size()));
  if (block.size() < named_from) return;
  const std::scoped_lock hold(lock_);
  holders_.emplace(&block, Holder{block.size(), runtime().ledger.last_call()});
}

void MemoryAccount::remove(const Block& block) {
  live_ -= static_cast<std::int64_t>(block.size());
  if (block.size() < named_from) return;
  const std::scoped_lock hold(lock_);
  holders_.erase(&block);
}

void MemoryAccount::back(std::int64_t bytes) {
  const std::int64_t now = backed_ += bytes;
  for (auto before = backed_peak_.load(); before < now && !backed_peak_.compare_exchange_weak(before, now);) {
  }
}

std::string MemoryAccount::largest() {
  const std::scoped_lock hold(lock_);
  std::vector<Holder> all;
  for (const auto& [block, holder] : holders_) all.push_back(holder);
  const auto shown = std::min<std::size_t>(3, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end(),
                    [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  std::string text;
  for (std::size_t k = 0; k < shown; ++k)
    text += fmt::format("{}{} bytes made in {}", k == 0 ? "; the largest: " : ", ", all[k].bytes, all[k].call.text());
  return text;
}

OutOfMemoryError MemoryAccount::refusal(std::size_t bytes) {
  return refusal(bytes, over_limit_ ? limit_words() : "the system has no more");
}

OutOfMemoryError MemoryAccount::refusal(std::size_t bytes, std::string_view why) {
  return OutOfMemoryError(
      fmt::format("rank {}: no memory for a block of {} bytes: {}; {} bytes of blocks are live on this rank{}. "
                  "Drop arrays, split over more devices, or raise the limit.",
                  runtime().rank, bytes, why, live(), largest()));
}

std::int64_t largest_block() { return runtime().largest_block; }

BlockStore& block_store() {
  ArenaStore* const shared = arena_store();
  return shared ? static_cast<BlockStore&>(*shared) : static_cast<BlockStore&>(private_store());
}

}  // namespace meshwise::detail

namespace meshwise {

MemoryStats memory_stats() {
  const auto& account = detail::memory_account();
  const auto* const shared = detail::arena_store();
  MemoryStats stats;
  stats.live = account.live();
  stats.peak = account.peak();
  stats.pooled = detail::private_store().pooled() + (shared ? shared->pooled() : 0);
  stats.physical = account.backed() - stats.pooled;
  stats.physical_peak = account.backed_peak();
  stats.store = detail::block_store().name();
  return stats;
}

void trim() {
  detail::private_store().trim();
  if (auto* const shared = detail::arena_store()) shared->trim();
}

}  // namespace meshwise

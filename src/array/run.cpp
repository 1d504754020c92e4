#include "array/run.hpp"

#include <algorithm>

#include "meshwise/runtime/environment.hpp"

namespace meshwise::detail {

namespace {

/// Peers after this rank first, so that not everyone starts with rank 0.
std::int64_t turn_of(std::int64_t rank) { return rank > process_index() ? rank - process_index() : rank - process_index() + process_count(); }

Exchange& exchange_with(std::vector<Exchange>& all, std::int64_t rank) {
  const auto at = std::lower_bound(all.begin(), all.end(), rank, [](const Exchange& e, std::int64_t r) { return turn_of(e.rank) < turn_of(r); });
  return at != all.end() && at->rank == rank ? *at : *all.insert(at, Exchange{rank, {}});
}

/// The box's elements as a window on the block of `data`.
LocalArray window(const LocalArray& data, const PlannedBox& planned, const Shape& shape) {
  auto strides = planned.box.strides;
  for (auto& s : strides) s /= static_cast<std::int64_t>(planned.box.itemsize);
  return {shape, data.dtype(), data.block(), static_cast<std::size_t>(data.data() - data.block()->data() + planned.offset), std::move(strides)};
}

}  // namespace

std::vector<LocalShard> make_shards(const MovePlan& plan, std::span<const std::span<const LocalShard>> sources, Dtype dtype,
                                    FunctionRef<LocalArray(const PlannedShard&)> build) {
  std::vector<LocalShard> shards;
  shards.reserve(plan.shards.size());
  for (const auto& shard : plan.shards) {
    switch (shard.way) {
      case PlannedShard::Way::window:
        shards.push_back({shard.position, window(sources[static_cast<std::size_t>(shard.window.job)][shard.window.shard].data, shard.window, shard.shape)});
        break;
      case PlannedShard::Way::twin:
        shards.push_back({shard.position, shards[shard.twin].data});
        break;
      case PlannedShard::Way::borrow:
        shards.push_back({shard.position, LocalArray(shard.shape, dtype, nullptr, 0, row_major_strides(shard.shape))});
        break;
      case PlannedShard::Way::build:
        shards.push_back({shard.position, build(shard)});
        break;
    }
  }
  return shards;
}

namespace {

std::vector<LocalShard> make_shards(const MovePlan& plan, std::span<const std::span<const LocalShard>> sources, Dtype dtype, const std::byte* fill,
                                    const LocalWriter& writer) {
  return make_shards(plan, sources, dtype, [&](const PlannedShard& shard) {
    LocalArray block(shard.shape, dtype);
    if (shard.fill) fill_value(block, fill);
    if (writer) writer(shard.held, block);
    return block;
  });
}

}  // namespace

Moved run_plan(const MovePlan& plan, std::span<const std::span<const LocalShard>> sources, Dtype dtype, const std::byte* fill, const LocalWriter& writer,
               const Ticket& ticket) {
  if (plan.sends.empty() && plan.receives.empty() && plan.copies.empty()) return {make_shards(plan, sources, dtype, fill, writer), nullptr};
  Run run;
  run.add(plan, sources, dtype, fill, writer);
  return std::move(run.post(ticket).front());
}

void Run::add(const MovePlan& plan, std::span<const std::span<const LocalShard>> sources, Dtype dtype, const std::byte* fill, const LocalWriter& writer) {
  add_exchange(plan, sources, dtype, make_shards(plan, sources, dtype, fill, writer));
}

void Run::add_exchange(const MovePlan& plan, std::span<const std::span<const LocalShard>> sources, Dtype dtype, std::vector<LocalShard> shards) {
  legs_.push_back({sources, dtype, std::move(shards)});
  const Leg& leg = legs_.back();
  sends_.reserve(plan.sends.size());
  receives_.reserve(plan.receives.size());
  for (const auto& peer : plan.sends) append(exchange_with(sends_, peer.rank), peer, leg);
  for (const auto& peer : plan.receives) {
    append(exchange_with(receives_, peer.rank), peer, leg);
    for (const auto& planned : peer.boxes)
      if (planned.box.passing == Passing::lend) lent_.push_back({turn_of(peer.rank), legs_.size() - 1, planned.shard});
  }
  copies_.reserve(copies_.size() + plan.copies.size());
  for (const auto& [from, to] : plan.copies) copies_.push_back({box(leg, from), box(leg, to)});
  if (plan.sends.empty() && plan.receives.empty()) return;
  for (const auto& source : leg.sources)
    for (const auto& shard : source) keep_.push_back(shard.data.block());
  for (const auto& shard : leg.shards)
    if (shard.data.block()) keep_.push_back(shard.data.block());
}

void Run::append(Exchange& exchange, const MovePlan::Peer& peer, const Leg& leg) {
  exchange.boxes.reserve(exchange.boxes.size() + peer.boxes.size());
  for (const auto& planned : peer.boxes) exchange.boxes.push_back(box(leg, planned));
}

StridedBox Run::box(const Leg& leg, const PlannedBox& planned) {
  StridedBox out = planned.box;
  const auto& data = planned.job < 0 ? leg.shards[planned.shard].data : leg.sources[static_cast<std::size_t>(planned.job)][planned.shard].data;
  if (!data.block()) return out;  // another rank's block will be its memory
  if (planned.copied_first) {
    LocalArray own(Shape(out.extents), leg.dtype);
    copy_values(window(data, planned, own.shape()), own);
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

std::vector<Moved> Run::post(const Ticket& ticket) {
  // Lent blocks are numbered as the transfer lists them: peer by peer.
  std::stable_sort(lent_.begin(), lent_.end(), [](const Lent& a, const Lent& b) { return a.turn < b.turn; });
  for (std::size_t k = 0; k < lent_.size(); ++k) legs_[lent_[k].leg].shards[lent_[k].shard].lent = static_cast<std::int64_t>(k);
  const auto transfer = detail::post(ticket, std::move(sends_), std::move(receives_), std::move(keep_), std::move(copies_));
  std::vector<Moved> moved;
  moved.reserve(legs_.size());
  for (auto& leg : legs_) moved.push_back({std::move(leg.shards), transfer});
  return moved;
}

}  // namespace meshwise::detail

#include "array/drain.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "array/run.hpp"
#include "meshwise/plan/donation.hpp"
#include "meshwise/runtime/partial_blocks.hpp"
#include "meshwise/runtime/watch.hpp"

namespace meshwise::detail {

namespace {

constexpr std::int64_t parts = donated_parts;
constexpr auto page = static_cast<std::int64_t>(page_bytes);

/// Part `k` of a box, or nothing. After `parts` parts there is one more, of what can't be cut: blocks that are lent, and what is forwarded from a new
/// block. Both ends cut alike, by the extents.
bool take_part(PlannedBox& planned, std::int64_t k) {
  auto& box = planned.box;
  if (box.passing == Passing::lend || planned.forwarded) return k == parts;
  if (k == parts || box.extents.empty()) return k == 0 && box.extents.empty();
  const auto cut = donated_part(box.extents, k);
  planned.offset += cut.range.start * box.strides[cut.axis];
  box.extents[cut.axis] = cut.range.size();
  return !cut.range.empty();
}

std::vector<MovePlan::Peer> part_of(const std::vector<MovePlan::Peer>& peers, std::int64_t k) {
  std::vector<MovePlan::Peer> out;
  for (auto peer : peers) {
    std::erase_if(peer.boxes, [&](PlannedBox& box) { return !take_part(box, k); });
    if (!peer.boxes.empty()) out.push_back(std::move(peer));
  }
  return out;
}

/// The exchange of part `k`, on the new shards that are there already.
MovePlan part_of(const MovePlan& plan, std::int64_t k) {
  MovePlan out;
  out.sends = part_of(plan.sends, k);
  out.receives = part_of(plan.receives, k);
  for (auto copy : plan.copies) {
    if (!take_part(copy.first, k)) continue;
    take_part(copy.second, k);
    out.copies.push_back(std::move(copy));
  }
  return out;
}

/// Calls f(first byte, bytes) for each run of a box that begins at byte `offset` of its block.
void each_run(const StridedBox& box, std::int64_t offset, FunctionRef<void(std::int64_t, std::int64_t)> f) {
  if (std::find(box.extents.begin(), box.extents.end(), 0) != box.extents.end()) return;
  auto dims = box.extents.size();
  auto run = static_cast<std::int64_t>(box.itemsize);
  while (dims > 0 && (box.extents[dims - 1] == 1 || box.strides[dims - 1] == run)) run *= box.extents[--dims];
  PerAxis<std::int64_t> at(dims, 0);
  for (;;) {
    auto first = offset;
    for (std::size_t d = 0; d < dims; ++d) first += at[d] * box.strides[d];
    f(first, run);
    auto d = dims;
    while (d > 0 && ++at[d - 1] == box.extents[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

/// The pages of one block, and how many bytes of each are still to be read (of a source) or written (of a result).
class Pages {
 public:
  explicit Pages(const Block& block) : bytes_(block.size()), left_(block.size() / page_bytes + 1, 0) {}

  void expect(std::int64_t first, std::int64_t bytes) {
    each_page(first, bytes, [&](std::size_t k, std::int64_t n) { left_[k] += static_cast<std::uint32_t>(n); });
  }
  /// These bytes are read: whole pages that nobody has yet to read are named.
  void read(std::int64_t first, std::int64_t bytes) {
    each_page(first, bytes, [&](std::size_t k, std::int64_t n) {
      left_[k] -= static_cast<std::uint32_t>(n);
      if (left_[k] == 0 && (k + 1) * page_bytes <= bytes_) named_.push_back(k);
    });
  }
  /// These bytes will be written: pages not named before are.
  void write(std::int64_t first, std::int64_t bytes) {
    each_page(first, bytes, [&](std::size_t k, std::int64_t) {
      if (std::exchange(left_[k], 1) == 0) named_.push_back(k);
    });
  }
  /// All that were never named.
  void name_rest() {
    for (std::size_t k = 0; k * page_bytes < bytes_; ++k)
      if (left_[k] == 0) named_.push_back(k);
  }
  /// Calls f(offset, bytes) for the runs of pages named since the last time.
  template <class F>
  void each_named(F&& f) {
    std::sort(named_.begin(), named_.end());
    for (std::size_t i = 0; i < named_.size();) {
      auto end = i + 1;
      while (end < named_.size() && named_[end] == named_[end - 1] + 1) ++end;
      f(named_[i] * page_bytes, (end - i) * page_bytes);
      i = end;
    }
    named_.clear();
  }

 private:
  template <class F>
  static void each_page(std::int64_t first, std::int64_t bytes, F&& f) {
    for (const auto end = first + bytes; first < end;) {
      const auto next = std::min(end, (first / page + 1) * page);
      f(static_cast<std::size_t>(first / page), next - first);
      first = next;
    }
  }

  std::size_t bytes_;
  std::vector<std::uint32_t> left_;
  std::vector<std::size_t> named_{};
};

class Drain {
 public:
  Drain(const MovePlan& plan, std::vector<LocalShard> source, Dtype dtype) : plan_(plan), source_(std::move(source)), dtype_(dtype) {}

  ~Drain() {
    for (const auto* blocks : {&sources_, &results_})
      for (const auto& [block, pages] : *blocks) end_partial(*block);
  }
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  /// The source's shards, as long as nothing of them has been let go.
  std::optional<std::vector<LocalShard>> whole_source() { return let_go_ ? std::nullopt : std::optional(std::move(source_)); }

  Moved run(const Ticket& ticket) {
    const std::span<const LocalShard> source = source_;
    shards_ = make_shards(plan_, {&source, 1}, dtype_, [&](const PlannedShard& shard) {
      auto block = allocate_empty(static_cast<std::size_t>(shard.shape.num_elements()) * itemsize(dtype_));
      results_.emplace(block.get(), Pages(*block));
      return LocalArray(shard.shape, dtype_, std::move(block), 0, row_major_strides(shard.shape));
    });
    count();
    for (std::int64_t k = 0; k <= parts; ++k) {
      const auto exchange = part_of(plan_, k);
      for_each(exchange, &Pages::write, results_, true);
      for (auto& [block, pages] : results_) pages.each_named([&](std::size_t offset, std::size_t bytes) { take_pages(*block, offset, bytes); });
      Run run;
      run.add_exchange(exchange, {&source, 1}, dtype_, std::move(shards_));
      auto moved = std::move(run.post(ticket).front());
      settle(moved.shards, moved.transfer);
      shards_ = std::move(moved.shards);
      if (!sources_.empty()) let_go(exchange);
    }
    for (auto& [block, pages] : results_) {
      pages.name_rest();
      pages.each_named([&](std::size_t offset, std::size_t bytes) { take_pages(*block, offset, bytes); });
      complete(*block);
    }
    return {std::move(shards_), nullptr};
  }

 private:
  using BlockPages = std::map<const Block*, Pages>;

  /// Blocks that only this array holds, and what is to be read of them.
  void count() {
    for (const auto& shard : source_) {
      const auto& block = shard.data.block();
      const auto own = std::count_if(source_.begin(), source_.end(), [&](const LocalShard& s) { return s.data.block() == block; });
      if (block.use_count() == own && is_only_here(*block)) sources_.emplace(block.get(), Pages(*block));
    }
    for (const auto& peer : plan_.sends)
      for (const auto& box : peer.boxes)
        if (box.box.passing == Passing::lend && box.job >= 0) sources_.erase(source_[box.shard].data.block().get());
    for_each(plan_, &Pages::expect, sources_, false);
  }

  /// After an exchange that this rank is done with: once its peers are too, what was read is let go.
  void let_go(const MovePlan& exchange) {
    for (const auto& [block, pages] : sources_) wait_until([&, b = block] { return is_only_here(*b); }, "the other ranks' reading of a donated array");
    for_each(exchange, &Pages::read, sources_, false);
    let_go_ = true;
    for (auto& [block, pages] : sources_) pages.each_named([&](std::size_t offset, std::size_t bytes) { give_back_pages(*block, offset, bytes); });
  }

  /// f of every run that an exchange reads from the source's blocks, or writes to the result's.
  void for_each(const MovePlan& exchange, void (Pages::*f)(std::int64_t, std::int64_t), BlockPages& blocks, bool writes) {
    const auto visit = [&](const PlannedBox& planned) {
      if ((planned.job < 0) != writes || planned.box.passing == Passing::lend) return;
      const auto& data = writes ? shards_[planned.shard].data : source_[planned.shard].data;
      const auto pages = data.block() ? blocks.find(data.block().get()) : blocks.end();
      if (pages == blocks.end()) return;
      each_run(planned.box, data.data() - data.block()->data() + planned.offset, [&](std::int64_t first, std::int64_t bytes) { (pages->second.*f)(first, bytes); });
    };
    for (const auto& peer : writes ? exchange.receives : exchange.sends)
      for (const auto& box : peer.boxes) visit(box);
    for (const auto& [from, to] : exchange.copies) visit(writes ? to : from);
  }

  const MovePlan& plan_;
  std::vector<LocalShard> source_, shards_{};
  Dtype dtype_;
  BlockPages sources_{}, results_{};
  bool let_go_ = false;
};

}  // namespace

Moved run_drain(const Array& x, const Sharding& target, const Ticket& ticket) {
  const auto plan = plan_reshard(ready_shards(x), x.sharding(), target, x.shape(), x.dtype());
  describe(ticket, plan->words);
  Drain drain(*plan, std::exchange(x.state()->shards, {}), x.dtype());
  try {
    return drain.run(ticket);
  } catch (...) {
    if (auto whole = drain.whole_source()) x.state()->shards = std::move(*whole);
    else delete_state(x, "lost when device_put, to which it was donated, failed half-way");
    throw;
  }
}

}  // namespace meshwise::detail

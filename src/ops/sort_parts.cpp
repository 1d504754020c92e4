#include "ops/sort_parts.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "array/move.hpp"
#include "array/negotiate.hpp"
#include "array/rehearsal.hpp"
#include "meshwise/runtime/watch.hpp"
#include "ops/kernels/sort.hpp"
#include "ops/kernels/sort_bins.hpp"
#include "ops/part_exchange.hpp"
#include "ops/split_axis.hpp"

namespace meshwise::detail {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Range range_of(std::int64_t start, std::int64_t count) { return {start, start + count}; }

class SortedParts {
 public:
  SortedParts(const Request& request, const Negotiated& negotiated, bool descending, bool want_places)
      : x_(*request.operands[0].array()),
        dtype_(request.dtype),
        descending_(descending),
        want_places_(want_places),
        ticket_(negotiated.ticket),
        sharding_(negotiated.layout->result),
        devices_(sharding_.devices()),
        split_(split_of(x_, 0)),
        n_(x_.size()) {
    // Keys, and places where there are any, stand once more beside what is sorted at a time.
    if (n_ / split_.parts * x_.itemsize() >= worth_rounds) rounds_ = want_places || is_complex(x_.dtype()) ? 8 : 4;
    for (const auto& shard : ready_shards(x_)) here_.push_back({shard.position, shard.data.contiguous()});
    for (const auto& shard : here_) result_.push_back({shard.position, LocalArray(shard.data.shape(), dtype_)});
  }

  Array run() {
    if (!here_.empty()) {  // else none of the devices is this rank's
      const auto bins = find_bins();
      for (std::int64_t round = 0; round < rounds_; ++round) sort_round(bins, round);
    }
    return make_sharded_array(x_.shape(), dtype_, sharding_, true, std::move(result_));
  }

 private:
  Range part_at(std::int64_t t) const { return part(t, split_.parts, n_); }

  // One copy of each part speaks for it.
  bool speaks(std::int64_t position) const { return split_.first_of(position) == split_.first_of(0); }

  /// The sums, over all parts, of what `count` adds to the counters of one.
  template <class F>
  std::vector<std::int64_t> summed(std::size_t counters, F&& count) const {
    std::vector<std::vector<std::int64_t>> own(here_.size(), std::vector<std::int64_t>(counters, 0));
    for (std::size_t i = 0; i < here_.size(); ++i)
      if (speaks(here_[i].position)) count(here_[i], std::span(own[i]));
    return detail::summed(devices_, own, ticket_);
  }

  /// Bin t * rounds + r has what part t of the result gets in round r.
  SortBins find_bins() const {
    std::vector<std::int64_t> ranks;
    for (std::int64_t t = 0; t < split_.parts; ++t)
      for (std::int64_t round = 0; round < rounds_; ++round)
        if (t + round > 0) ranks.push_back(part_at(t).start + part(round, rounds_, part_at(t).size()).start);
    KeySearch search(at(x_.itemsize()), std::move(ranks), n_, descending_);
    while (!search.done())
      search.refine(summed(search.counters(), [&](const LocalShard& shard, std::span<std::int64_t> sums) { search.count(shard.data, sums); }));
    SortBins bins(std::move(search));
    bins.settle(summed(bins.counters() * at(split_.parts), [&](const LocalShard& shard, std::span<std::int64_t> sums) {
      bins.count(shard.data, sums.subspan(bins.counters() * at(split_.part_at(shard.position)), bins.counters()));
    }));
    return bins;
  }

  struct Packed {
    LocalArray values{}, places{};
  };

  Packed packed(const SortBins& bins, const LocalShard& shard, std::int64_t round) const {
    const auto t = split_.part_at(shard.position);
    std::int64_t count = 0;
    for (std::int64_t target = 0; target < split_.parts; ++target) count += bins.count_of(t, target * rounds_ + round);
    Packed out{LocalArray(Shape{count}, x_.dtype()), {}};
    if (want_places_) out.places = LocalArray(Shape{count}, dtype_);
    bins.pack(t, shard.data, round, rounds_, out.values, want_places_ ? &out.places : nullptr, part_at(t).start);
    return out;
  }

  void sort_round(const SortBins& bins, std::int64_t round) {
    // What arrives: in the result's memory, but for the values that places go with.
    std::vector<Packed> arrived(here_.size());
    for (std::size_t i = 0; i < here_.size(); ++i) {
      const auto own = part_at(split_.part_at(here_[i].position));
      const auto window = result_[i].data.box({part(round, rounds_, own.size())});
      arrived[i] = want_places_ ? Packed{LocalArray(window.shape(), x_.dtype()), window} : Packed{window, {}};
    }
    exchange(bins, round, arrived);
    for (const auto& [values, places] : arrived) want_places_ ? sort_places(values, places, descending_) : sort_in_place(values, descending_);
  }

  // Both ends go through the result's devices in order, and for each through the parts that send.
  void exchange(const SortBins& bins, std::int64_t round, const std::vector<Packed>& arrived) const {
    std::vector<Packed> sent;
    for (const auto& shard : here_) sent.push_back(packed(bins, shard, round));
    PartExchange boxes;
    for (std::int64_t target = 0; target < devices_.size(); ++target) {
      const auto bin = split_.part_at(target) * rounds_ + round;
      const auto owned = number_here(target);
      std::int64_t to = 0;
      for (std::int64_t t = 0; t < split_.parts; ++t) {
        const auto source = split_.first_of(target) + split_.offset_of(t);
        const auto sending = number_here(source);
        const auto count = bins.count_of(t, bin);
        const auto pass = [&](LocalArray Packed::*what) {
          boxes.add(devices_[source].rank, sending ? (sent[*sending].*what).box({range_of(start_in(bins, t, bin, round), count)}) : LocalArray(),
                    devices_[target].rank, owned ? (arrived[*owned].*what).box({range_of(to, count)}) : LocalArray());
        };
        if (count > 0 && (sending || owned)) {
          pass(&Packed::values);
          if (want_places_) pass(&Packed::places);
        }
        to += count;
      }
    }
    boxes.run(ticket_);
  }

  /// Where in what part t packs the bin begins.
  std::int64_t start_in(const SortBins& bins, std::int64_t t, std::int64_t bin, std::int64_t round) const {
    std::int64_t start = 0;
    for (auto before = round; before < bin; before += rounds_) start += bins.count_of(t, before);
    return start;
  }

  std::optional<std::size_t> number_here(std::int64_t position) const {
    for (std::size_t i = 0; i < here_.size(); ++i)
      if (here_[i].position == position) return i;
    return std::nullopt;
  }

  const Array& x_;
  Dtype dtype_;
  bool descending_, want_places_;
  const Ticket& ticket_;
  Sharding sharding_;
  const DeviceList& devices_;
  AxisSplit split_;
  std::int64_t n_, rounds_ = 1;
  std::vector<LocalShard> here_{}, result_{};
};

}  // namespace

Array sort_parts(const Request& request, bool descending, bool want_places) {
  const auto negotiated = negotiate(request);
  if (rehearsing()) {
    const auto& x = *request.operands[0].array();
    return rehearse_counted(request, negotiated, "each element to where its value belongs, at most", x.size() * (x.itemsize() + (want_places ? static_cast<std::int64_t>(itemsize(request.dtype)) : 0)),
                            [=](const Request& again) { return sort_parts(again, descending, want_places); });
  }
  describe(negotiated.ticket, negotiated.layout->words);
  Array result;
  run_local_part(request.operation, [&] { result = SortedParts(request, negotiated, descending, want_places).run(); });
  return result;
}

}  // namespace meshwise::detail

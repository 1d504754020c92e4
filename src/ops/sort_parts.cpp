#include "ops/sort_parts.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "array/move.hpp"
#include "array/negotiate.hpp"
#include "array/rehearsal.hpp"
#include "meshwise/runtime/collectives.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/transport.hpp"
#include "meshwise/runtime/watch.hpp"
#include "ops/kernels/merge.hpp"
#include "ops/kernels/sort.hpp"
#include "ops/split_axis.hpp"

namespace meshwise::detail {

namespace {

// runtime/group lists them, for those who know MPI.
std::size_t ranks_among(const DeviceList& devices) {
  std::set<std::int64_t> ranks;
  for (std::int64_t position = 0; position < devices.size(); ++position) ranks.insert(devices[position].rank);
  return ranks.size();
}

class SortedParts {
 public:
  SortedParts(const Request& request, const Negotiated& negotiated, bool descending, bool want_places)
      : x_(*request.operands[0].array()),
        place_dtype_(request.dtype),
        descending_(descending),
        want_places_(want_places),
        ticket_(negotiated.ticket),
        sharding_(negotiated.layout->result),
        devices_(sharding_.devices()),
        split_(split_of(x_, 0)),
        n_(x_.size()),
        processes_(ranks_among(devices_)) {}

  Array run() {
    sort_here();
    if (!here_.empty()) {  // else none of the devices is this rank's
      find_cuts();
      exchange();
      here_.clear();  // before the merge takes memory of its own
    }
    std::vector<LocalShard> shards;
    for (auto& arrived : arrived_) {
      auto merged = run_merge(arrived.runs, std::move(arrived.ends), descending_);
      shards.push_back({arrived.position, want_places_ ? std::move(merged.places) : std::move(merged.values)});
    }
    return make_sharded_array(x_.shape(), want_places_ ? place_dtype_ : x_.dtype(), sharding_, true, std::move(shards));
  }

 private:
  struct Arrived {
    std::int64_t position = 0;
    Runs runs{};
    std::vector<std::int64_t> ends{};
  };

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::int64_t begin_of(std::int64_t t) const { return part(t, split_.parts, n_).start; }

  void sort_here() {
    for (const auto& shard : ready_shards(x_)) {
      const auto values = shard.data.contiguous();
      Runs sorted;
      if (!want_places_) {
        sorted.values = run_sort(values, 0, descending_);
      } else {
        sorted.places = run_argsort(values, 0, descending_, place_dtype_);
        sorted.values = LocalArray(values.shape(), values.dtype());
        const auto begin = begin_of(split_.part_at(shard.position));
        const auto gather = [&]<class Place>(Place* places) {
          const auto size = itemsize(values.dtype());
          for (std::int64_t i = 0; i < values.size(); ++i) {
            std::memcpy(sorted.values.data() + at(i) * size, values.data() + at(static_cast<std::int64_t>(places[i])) * size, size);
            places[i] = static_cast<Place>(places[i] + begin);
          }
        };
        if (place_dtype_ == int64)
          gather(reinterpret_cast<std::int64_t*>(sorted.places.data()));
        else
          gather(reinterpret_cast<std::int32_t*>(sorted.places.data()));
      }
      here_.push_back({shard.position, std::move(sorted)});
    }
  }

  // Sums over the processes of what each says of the parts it speaks for: those of which it has the first copy.
  std::vector<std::int64_t> summed(const std::vector<std::int64_t>& mine) const {
    std::vector<std::int64_t> all(mine.size() * processes_), sums(mine.size());
    all_gather(devices_, mine.data(), mine.size() * sizeof mine[0], all.data(), ticket_);
    for (std::size_t i = 0; i < all.size(); ++i) sums[i % sums.size()] += all[i];
    return sums;
  }

  bool speaks(std::int64_t position) const { return split_.first_of(position) == split_.first_of(0); }

  // cuts_[t][j]: how many of part t's sorted elements go to parts before j. The key at which the elements before a boundary end is found bit by bit;
  // of elements with that key those of earlier parts come first.
  void find_cuts() {
    const auto parts = split_.parts;
    const auto boundaries = at(parts - 1);
    std::vector<std::uint64_t> keys(boundaries, 0);
    for (auto bit = 8 * static_cast<int>(itemsize(x_.dtype())); bit-- > 0;) {
      // The largest keys, so far, below which there are not yet enough.
      std::vector<std::int64_t> below(boundaries, 0);
      for (const auto& [position, sorted] : here_)
        if (speaks(position))
          for (std::size_t j = 0; j < boundaries; ++j)
            below[j] += run_key_range(sorted.values, keys[j] | (std::uint64_t{1} << bit), descending_).less;
      const auto counts = summed(below);
      for (std::size_t j = 0; j < boundaries; ++j)
        if (counts[j] < begin_of(static_cast<std::int64_t>(j) + 1)) keys[j] |= std::uint64_t{1} << bit;
    }
    std::vector<std::int64_t> mine(at(parts) * boundaries * 2, 0);
    for (const auto& [position, sorted] : here_) {
      if (!speaks(position)) continue;
      for (std::size_t j = 0; j < boundaries; ++j) {
        const auto range = run_key_range(sorted.values, keys[j], descending_);
        auto* const entry = &mine[(at(split_.part_at(position)) * boundaries + j) * 2];
        entry[0] = range.less;
        entry[1] = range.equal;
      }
    }
    const auto ranges = summed(mine);
    cuts_.assign(at(parts), std::vector<std::int64_t>(at(parts) + 1, 0));
    for (std::int64_t t = 0; t < parts; ++t) cuts_[at(t)][at(parts)] = begin_of(t + 1) - begin_of(t);
    for (std::size_t j = 0; j < boundaries; ++j) {
      auto missing = begin_of(static_cast<std::int64_t>(j) + 1);
      for (std::int64_t t = 0; t < parts; ++t) missing -= ranges[(at(t) * boundaries + j) * 2];
      for (std::int64_t t = 0; t < parts; ++t) {
        const auto* const entry = &ranges[(at(t) * boundaries + j) * 2];
        const auto equal = std::min(entry[1], missing);
        cuts_[at(t)][j + 1] = entry[0] + equal;
        missing -= equal;
      }
    }
  }

  static StridedBox box(const LocalArray& x, std::int64_t begin, std::int64_t count) {
    const auto size = itemsize(x.dtype());
    return {.base = x.data() + at(begin) * size,
            .extents = {count},
            .strides = {static_cast<std::int64_t>(size)},
            .itemsize = size,
            .block = x.block().get()};
  }

  static std::vector<StridedBox>& boxes_for(std::vector<Exchange>& exchanges, std::int64_t rank) {
    for (auto& exchange : exchanges)
      if (exchange.rank == rank) return exchange.boxes;
    return exchanges.emplace_back(Exchange{rank, {}}).boxes;
  }

  const Runs* sorted_at(std::int64_t position) const {
    for (const auto& [p, sorted] : here_)
      if (p == position) return &sorted;
    return nullptr;
  }

  Runs memory(std::int64_t count) const {
    return {LocalArray(Shape{count}, x_.dtype()), want_places_ ? LocalArray(Shape{count}, place_dtype_) : LocalArray()};
  }

  // Both ends go through the result's devices in order, and for each through the parts that send.
  void exchange() {
    std::vector<Exchange> sends, receives;
    std::vector<LocalCopy> copies;
    std::vector<std::shared_ptr<Block>> keep;
    const auto keep_blocks = [&](const Runs& runs) {
      keep.push_back(runs.values.block());
      if (want_places_) keep.push_back(runs.places.block());
    };
    const auto me = process_index();
    for (std::int64_t target = 0; target < devices_.size(); ++target) {
      const auto j = split_.part_at(target);
      const auto owner = devices_[target].rank;
      if (owner == me) {
        arrived_.push_back({target, memory(begin_of(j + 1) - begin_of(j)), {}});
        keep_blocks(arrived_.back().runs);
      }
      std::int64_t to = 0;
      for (std::int64_t t = 0; t < split_.parts; ++t) {
        const auto source = split_.first_of(target) + split_.offset_of(t);
        const auto from = cuts_[at(t)][at(j)], count = cuts_[at(t)][at(j) + 1] - from;
        const auto* const sorted = sorted_at(source);
        const auto sender = devices_[source].rank;
        const auto pass = [&](LocalArray Runs::*what) {
          if (owner == me && sender == me)
            copies.push_back({box(sorted->*what, from, count), box(arrived_.back().runs.*what, to, count)});
          else if (owner == me)
            boxes_for(receives, sender).push_back(box(arrived_.back().runs.*what, to, count));
          else if (sender == me)
            boxes_for(sends, owner).push_back(box(sorted->*what, from, count));
        };
        if (count > 0) {
          pass(&Runs::values);
          if (want_places_) pass(&Runs::places);
        }
        to += count;
        if (owner == me && count > 0) arrived_.back().ends.push_back(to);
      }
    }
    for (const auto& [position, sorted] : here_) keep_blocks(sorted);
    if (const auto transfer = post(ticket_, std::move(sends), std::move(receives), std::move(keep), std::move(copies))) transfer->wait();
  }

  const Array& x_;
  Dtype place_dtype_;
  bool descending_, want_places_;
  const Ticket& ticket_;
  Sharding sharding_;
  const DeviceList& devices_;
  AxisSplit split_;
  std::int64_t n_;
  std::size_t processes_;
  std::vector<std::pair<std::int64_t, Runs>> here_{};  // by position
  std::vector<std::vector<std::int64_t>> cuts_{};
  std::vector<Arrived> arrived_{};
};

}  // namespace

Array sort_parts(const Request& request, bool descending, bool want_places) {
  const auto negotiated = negotiate(request);
  if (rehearsing()) {
    const auto& x = *request.operands[0].array();
    return rehearse_counted(request, negotiated, "each element to where its value belongs, at most", x.size() * (x.itemsize() + (want_places ? static_cast<std::int64_t>(itemsize(request.dtype)) : 0)));
  }
  describe(negotiated.ticket, negotiated.layout->words);
  Array result;
  run_local_part(request.operation, [&] { result = SortedParts(request, negotiated, descending, want_places).run(); });
  return result;
}

}  // namespace meshwise::detail

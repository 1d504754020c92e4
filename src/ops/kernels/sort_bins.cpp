#include "ops/kernels/sort_bins.hpp"

#include <algorithm>

namespace meshwise::detail {

void SortBins::count(const LocalArray& values, std::span<std::int64_t> counters) const {
  visit(values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* const from = reinterpret_cast<const T*>(values.data());
    const auto bins = static_cast<std::int32_t>(search_.bins());
    for (std::int64_t i = 0; i < values.size(); ++i) {
      const auto found = search_.find(from[i]);
      ++counters[static_cast<std::size_t>(found >= 0 ? found : bins + ~found)];
    }
  });
}

void SortBins::settle(std::span<const std::int64_t> counters) {
  const auto bins = search_.bins(), ties = search_.ties().size(), parts = counters.size() / (bins + ties);
  std::vector<std::int64_t> equal(ties, 0);  // of earlier parts
  for (std::size_t part = 0; part < parts; ++part) {
    const auto mine = counters.subspan(part * (bins + ties), bins + ties);
    counts_.insert(counts_.end(), mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(bins));
    auto* const counts = counts_.data() + part * bins;
    for (std::size_t t = 0; t < ties; ++t) {
      const auto& tie = search_.ties()[t];
      const auto own = mine[bins + t];
      auto& cuts = cuts_.emplace_back();
      std::int64_t before = 0;
      for (auto boundary = tie.first; boundary < tie.last; ++boundary) {
        cuts.push_back(std::clamp<std::int64_t>(search_.rank(boundary) - tie.before - equal[t], 0, own));
        counts[boundary] += cuts.back() - before;
        before = cuts.back();
      }
      counts[tie.last] += own - before;
      equal[t] += own;
    }
  }
}

std::int64_t SortBins::count_of(std::int64_t part, std::int64_t bin) const {
  return counts_[static_cast<std::size_t>(part) * search_.bins() + static_cast<std::size_t>(bin)];
}

void SortBins::pack(std::int64_t part, const LocalArray& values, std::int64_t first, std::int64_t step, const LocalArray& packed,
                    const LocalArray* places, std::int64_t begin) const {
  // Where each bin's next element goes; -1: not now.
  std::vector<std::int64_t> next(search_.bins(), -1);
  std::int64_t at = 0;
  for (auto bin = first; bin < static_cast<std::int64_t>(next.size()); bin += step) {
    next[static_cast<std::size_t>(bin)] = at;
    at += count_of(part, bin);
  }
  const auto ties = search_.ties();
  std::vector<std::int64_t> seen(ties.size(), 0);
  const auto pack_all = [&]<class Place>(Place* to_places) {
    visit(values.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto* const from = reinterpret_cast<const T*>(values.data());
      auto* const to = reinterpret_cast<T*>(packed.data());
      for (std::int64_t i = 0; i < values.size(); ++i) {
        auto bin = search_.find(from[i]);
        if (bin < 0) {
          const auto t = static_cast<std::size_t>(~bin);
          const auto& cuts = cuts_[static_cast<std::size_t>(part) * ties.size() + t];
          bin = static_cast<std::int32_t>(ties[t].first) +
                static_cast<std::int32_t>(std::upper_bound(cuts.begin(), cuts.end(), seen[t]++) - cuts.begin());
        }
        auto& place = next[static_cast<std::size_t>(bin)];
        if (place < 0) continue;
        if (to_places != nullptr) to_places[place] = static_cast<Place>(begin + i);
        to[place++] = from[i];
      }
    });
  };
  if (places == nullptr)
    pack_all(static_cast<std::int32_t*>(nullptr));
  else if (places->dtype() == int64)
    pack_all(reinterpret_cast<std::int64_t*>(places->data()));
  else
    pack_all(reinterpret_cast<std::int32_t*>(places->data()));
}

}  // namespace meshwise::detail

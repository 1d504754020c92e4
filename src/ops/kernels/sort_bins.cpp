#include "ops/kernels/sort_bins.hpp"

#include <algorithm>

namespace meshwise::detail {

void SortBins::count(const LocalArray& values, std::span<std::int64_t> counters) const {
  visit(values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* const from = reinterpret_cast<const T*>(values.data());
    const auto bins = static_cast<std::int32_t>(search_.bins());
    const auto size = values.size();
    for (std::int64_t i = 0; i < size; ++i) {
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
  const auto ties = search_.ties();
  std::vector<std::int64_t> seen(ties.size(), 0);
  const auto pack_all = [&]<class Place>(Place* to_places) {
    visit(values.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto* const from = reinterpret_cast<const T*>(values.data());
      // Where each bin's next element goes. Elements of other bins all go to one place that nobody reads: which bin comes next no processor foresees.
      struct Next {
        T* to;
        Place* place;
        std::int64_t step;
      };
      T dropped{};
      Place nowhere{};
      std::vector<Next> next(search_.bins(), Next{&dropped, &nowhere, 0});
      auto* to = reinterpret_cast<T*>(packed.data());
      auto* place = to_places;
      for (auto bin = first; bin < static_cast<std::int64_t>(next.size()); bin += step) {
        next[static_cast<std::size_t>(bin)] = {to, place, 1};
        to += count_of(part, bin);
        if (place != nullptr) place += count_of(part, bin);
      }
      const auto size = values.size();
      const bool placed = to_places != nullptr;
      auto* const nexts = next.data();
      for (std::int64_t i = 0; i < size; ++i) {
        auto bin = search_.find(from[i]);
        if (bin < 0) {
          const auto t = static_cast<std::size_t>(~bin);
          const auto& cuts = cuts_[static_cast<std::size_t>(part) * ties.size() + t];
          bin = static_cast<std::int32_t>(ties[t].first) +
                static_cast<std::int32_t>(std::upper_bound(cuts.begin(), cuts.end(), seen[t]++) - cuts.begin());
        }
        auto& here = nexts[bin];
        *here.to = from[i];
        here.to += here.step;
        if (!placed) continue;
        *here.place = static_cast<Place>(begin + i);
        here.place += here.step;
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

#include "ops/kernels/key_search.hpp"

#include <utility>

namespace meshwise::detail {

KeySearch::KeySearch(std::size_t key_bytes, std::vector<std::int64_t> ranks, std::int64_t total, bool descending)
    : key_bytes_(key_bytes), bins_(ranks.size() + 1), descending_(descending), ranks_(std::move(ranks)) {
  while (!ranks_.empty() && ranks_.back() >= total) ranks_.pop_back();
  if (!ranks_.empty()) open_.push_back({0, ranks_.size(), 0});
  if (ranks_.empty()) {  // all keys lie in one bin
    level_ = key_bytes_;
    table_.assign(digits, 0);
  }
}

void KeySearch::count(const LocalArray& values, std::span<std::int64_t> counters) const {
  visit(values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Key = UnsignedOf<sizeof(T)>;
    const auto* const from = reinterpret_cast<const T*>(values.data());
    const auto* const table = table_.data();
    auto* const to = counters.data();
    const auto last = 8 * (static_cast<int>(sizeof(Key)) - 1 - static_cast<int>(level_));
    const auto first_open = static_cast<std::size_t>(first_open_);
    for (std::int64_t i = 0; i < values.size(); ++i) {
      auto key = sort_key(from[i]);
      if (descending_) key = static_cast<Key>(~key);
      std::size_t node = 0;
      int shift = 8 * static_cast<int>(sizeof(Key)) - 8;
      for (; shift > last; shift -= 8) {
        const auto next = table[node * digits + static_cast<std::size_t>((key >> shift) & 0xff)];
        if (next >= 0) break;
        node = static_cast<std::size_t>(~next);
      }
      if (shift == last) ++to[(node - first_open) * digits + static_cast<std::size_t>((key >> shift) & 0xff)];
    }
  });
}

void KeySearch::refine(std::span<const std::int64_t> sums) {
  std::vector<Tie> next;
  const auto first_next = level_ + 1 == key_bytes_ ? 0 : first_open_ + static_cast<std::int32_t>(open_.size());
  for (std::size_t node = 0; node < open_.size(); ++node) {
    auto before = open_[node].before;
    auto boundary = open_[node].first;
    for (std::size_t digit = 0; digit < digits; ++digit) {
      const auto after = before + sums[node * digits + digit];
      const auto first = boundary;
      while (boundary < open_[node].last && ranks_[boundary] < after) ++boundary;
      if (boundary == first) {
        table_.push_back(static_cast<std::int32_t>(boundary));
      } else {
        table_.push_back(~(first_next + static_cast<std::int32_t>(next.size())));
        next.push_back({first, boundary, before});
      }
      before = after;
    }
  }
  open_ = std::move(next);
  first_open_ = first_next;
  ++level_;
}

}  // namespace meshwise::detail

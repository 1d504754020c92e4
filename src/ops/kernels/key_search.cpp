#include "ops/kernels/key_search.hpp"

#include <utility>

namespace meshwise::detail {

KeySearch::KeySearch(std::size_t key_bytes, std::vector<std::int64_t> ranks, std::int64_t total, bool descending)
    : bits_(ranks.size() > 32 ? 8 : 11),
      digits_(std::size_t{1} << bits_),
      bins_(ranks.size() + 1),
      top_((8 * static_cast<int>(key_bytes) - 1) / bits_ * bits_),
      shift_(top_),
      descending_(descending),
      ranks_(std::move(ranks)) {
  while (!ranks_.empty() && ranks_.back() >= total) ranks_.pop_back();
  if (!ranks_.empty()) open_.push_back({0, ranks_.size(), 0});
  if (ranks_.empty()) {  // all keys lie in one bin
    shift_ = -1;
    table_.assign(digits_, 0);
  }
}

void KeySearch::count(const LocalArray& values, std::span<std::int64_t> counters) const {
  visit(values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* const from = reinterpret_cast<const T*>(values.data());
    const auto* const table = table_.data();
    auto* const to = counters.data();
    const auto top = top_, last = shift_, bits = bits_;
    const auto digits = digits_;
    const auto first_open = static_cast<std::size_t>(first_open_);
    const auto size = values.size();
    for (std::int64_t i = 0; i < size; ++i) {
      const auto key = key_of(from[i], descending_);
      std::size_t node = 0;
      int shift = top;
      for (; shift > last; shift -= bits) {
        const auto next = table[node * digits + (static_cast<std::size_t>(key >> shift) & (digits - 1))];
        if (next >= 0) break;
        node = static_cast<std::size_t>(~next);
      }
      if (shift == last) ++to[(node - first_open) * digits + (static_cast<std::size_t>(key >> shift) & (digits - 1))];
    }
  });
}

void KeySearch::refine(std::span<const std::int64_t> sums) {
  std::vector<Tie> next;
  const auto first_next = shift_ == 0 ? 0 : first_open_ + static_cast<std::int32_t>(open_.size());
  for (std::size_t node = 0; node < open_.size(); ++node) {
    auto before = open_[node].before;
    auto boundary = open_[node].first;
    for (std::size_t digit = 0; digit < digits_; ++digit) {
      const auto after = before + sums[node * digits_ + digit];
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
  shift_ -= bits_;
}

}  // namespace meshwise::detail

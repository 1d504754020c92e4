#pragma once
// Least significant digits first: stable, and a pass over memory for each 11 bits of a key in which keys differ.

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace meshwise::detail {

/// Local. Sorts keys, and what goes with them (Payload a second row; null: nothing), with as much memory beside them again. Counting all digits in the first
/// pass leaves out passes in which all keys have one digit.
template <class Key, class Payload>
void radix_sort(Key* keys, Payload* payload, std::int64_t count, Key* more_keys, Payload* more_payload) {
  constexpr int digit = sizeof(Key) <= 2 ? 8 : 11, digits = (8 * static_cast<int>(sizeof(Key)) + digit - 1) / digit;
  constexpr std::size_t buckets = std::size_t{1} << digit;
  const auto of = [](Key key, int d) { return static_cast<std::size_t>(key >> (d * digit)) & (buckets - 1); };
  std::vector<std::array<std::uint32_t, buckets>> counts(digits);
  for (std::int64_t i = 0; i < count; ++i)
    for (int d = 0; d < digits; ++d) ++counts[static_cast<std::size_t>(d)][of(keys[i], d)];
  auto *from = keys, *to = more_keys;
  auto *from_payload = payload, *to_payload = more_payload;
  for (int d = 0; d < digits; ++d) {
    auto& starts = counts[static_cast<std::size_t>(d)];
    if (starts[of(from[0], d)] == count) continue;
    std::uint32_t sum = 0;
    for (auto& start : starts) sum += std::exchange(start, sum);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto place = starts[of(from[i], d)]++;
      to[place] = from[i];
      if (payload != nullptr) to_payload[place] = from_payload[i];
    }
    std::swap(from, to);
    std::swap(from_payload, to_payload);
  }
  if (from == keys) return;
  std::copy_n(from, count, keys);
  if (payload != nullptr) std::copy_n(from_payload, count, payload);
}

}  // namespace meshwise::detail

#pragma once
// Of keys that lie in many blocks: those before which given numbers of keys lie. Found a digit at a time, the first digits first, by adding up what
// each block has of every digit; then every key is known to lie between two of them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "meshwise/array/local_array.hpp"
#include "ops/kernels/sort_keys.hpp"

namespace meshwise::detail {

class KeySearch {
 public:
  /// Local. Boundaries before which `ranks` keys lie, ascending, of `total` keys of `key_bytes` each.
  KeySearch(std::size_t key_bytes, std::vector<std::int64_t> ranks, std::int64_t total, bool descending);

  bool done() const { return shift_ < 0; }
  /// Local. How many counters this digit takes; a block adds its own to them, and the sums over all blocks say which digit the boundaries have.
  std::size_t counters() const { return digits_ * open_.size(); }
  void count(const LocalArray& values, std::span<std::int64_t> counters) const;
  void refine(std::span<const std::int64_t> sums);

  /// Local. Boundaries that are one key, `before` which lie so many other keys.
  struct Tie {
    std::size_t first = 0, last = 0;
    std::int64_t before = 0;
    Unsigned128 key = 0;  // its first digits, while the search goes on
  };
  std::span<const Tie> ties() const { return open_; }
  std::size_t bins() const { return bins_; }
  std::int64_t rank(std::size_t boundary) const { return ranks_[boundary]; }

  /// Local. How many boundaries a key lies behind; ~t where it is tie t's.
  template <class T>
  std::int32_t find(T value) const {
    using Key = UnsignedOf<sizeof(T)>;
    auto key = sort_key(value);
    if (descending_) key = static_cast<Key>(~key);
    const auto* const table = table_.data();
    std::int32_t node = 0;
    for (int shift = top_;; shift -= bits_) {
      const auto next = table[static_cast<std::size_t>(node) * digits_ + (static_cast<std::size_t>(key >> shift) & (digits_ - 1))];
      if (next >= 0 || shift == 0) return next;
      node = ~next;
    }
  }

  /// Local. The same of `count` values at once. Few boundaries are compared with every key, without a branch; a look-up in tables ends where no processor foresees.
  template <class T>
  void find_all(const T* values, std::int64_t count, std::int32_t* found) const {
    using Key = UnsignedOf<sizeof(T)>;
    if constexpr (sizeof(Key) <= 8) {
      if (open_.size() <= 128 / sizeof(Key)) return compare_all<T, Key>(values, count, found);
    }
    for (std::int64_t i = 0; i < count; ++i) found[i] = find(values[i]);
  }

 private:
  template <class T, class Key>
  void compare_all(const T* values, std::int64_t count, std::int32_t* found) const {
    using Lane = std::conditional_t<sizeof(Key) == 8, std::int64_t, std::int32_t>;  // of the order that signed comparisons have
    constexpr auto top = std::numeric_limits<Lane>::min();
    constexpr std::int64_t block = 512;
    Lane keys[block], bins[block], ties[block];
    const auto in_order = [](Key key) { return static_cast<Lane>(static_cast<std::make_unsigned_t<Lane>>(key) ^ static_cast<std::make_unsigned_t<Lane>>(top)); };
    for (std::int64_t done = 0; done < count; done += block) {
      const auto n = std::min(block, count - done);
      const auto flip = descending_ ? static_cast<Key>(~Key{0}) : Key{0};
      for (std::int64_t i = 0; i < n; ++i) {
        keys[i] = in_order(static_cast<Key>(sort_key(values[done + i]) ^ flip));
        bins[i] = 0;
        ties[i] = 0;
      }
      for (std::size_t t = 0; t < open_.size(); ++t) {
        const auto key = in_order(static_cast<Key>(open_[t].key));
        const auto boundaries = static_cast<Lane>(open_[t].last - open_[t].first), number = static_cast<Lane>(~t);
        for (std::int64_t i = 0; i < n; ++i) {
          bins[i] += keys[i] > key ? boundaries : 0;
          ties[i] |= keys[i] == key ? number : 0;
        }
      }
      for (std::int64_t i = 0; i < n; ++i) found[done + i] = static_cast<std::int32_t>(ties[i] != 0 ? ties[i] : bins[i]);
    }
  }

  int bits_;                    // of a digit: many boundaries have many tables, so smaller ones
  std::size_t digits_, bins_;
  int top_, shift_;             // where the first digit, and the next one that is counted, stand in a key
  bool descending_;
  std::vector<std::int64_t> ranks_;    // without boundaries behind all keys
  std::vector<Tie> open_{};            // the nodes of this level
  std::int32_t first_open_ = 0;        // their number
  std::vector<std::int32_t> table_{};  // per node and digit: a bin, or ~ the next node (of the last digit: ~ the tie)
};

}  // namespace meshwise::detail

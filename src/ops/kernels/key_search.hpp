#pragma once
// Of keys that lie in many blocks: those before which given numbers of keys lie. Found a digit at a time, the first digits first, by adding up what
// each block has of every digit; then every key is known to lie between two of them.

#include <cstddef>
#include <cstdint>
#include <span>
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
  };
  std::span<const Tie> ties() const { return open_; }
  std::size_t bins() const { return bins_; }
  std::int64_t rank(std::size_t boundary) const { return ranks_[boundary]; }

  /// Local. How many boundaries a key lies behind; ~t where it is tie t's.
  template <class T>
  std::int32_t find(T value) const {
    const auto key = key_of(value, descending_);
    const auto* const table = table_.data();
    std::int32_t node = 0;
    for (int shift = top_;; shift -= bits_) {
      const auto next = table[static_cast<std::size_t>(node) * digits_ + (static_cast<std::size_t>(key >> shift) & (digits_ - 1))];
      if (next >= 0 || shift == 0) return next;
      node = ~next;
    }
  }

 private:
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

#pragma once
// Which elements of each part of a vector go between which boundaries of its order: equal ones of earlier parts first.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/kernels/key_search.hpp"

namespace meshwise::detail {

class SortBins {
 public:
  /// Local. Of a search that is done, which it keeps.
  explicit SortBins(KeySearch search) : search_(std::move(search)) {}

  /// Local. How many counters a part takes, and what a dense part adds to them.
  std::size_t counters() const { return search_.bins() + search_.ties().size(); }
  void count(const LocalArray& values, std::span<std::int64_t> counters) const;
  /// Local. From the counters of all parts, one part after the other.
  void settle(std::span<const std::int64_t> counters);

  std::int64_t count_of(std::int64_t part, std::int64_t bin) const;

  /// Local. A part's elements of the bins first, first + step, ... one bin after the other, in the order they had; and where they were, if `places` has room for that,
  /// the part's first element being number `begin`.
  void pack(std::int64_t part, const LocalArray& values, std::int64_t first, std::int64_t step, const LocalArray& packed, const LocalArray* places,
            std::int64_t begin) const;

 private:
  KeySearch search_;
  std::vector<std::int64_t> counts_{};             // per part and bin
  std::vector<std::vector<std::int64_t>> cuts_{};  // per part and boundary of each tie: how many of the part's equal elements lie before it
};

}  // namespace meshwise::detail

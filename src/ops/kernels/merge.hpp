#pragma once
// Sorted blocks of several devices: how many of their elements come before a key, and their merge.

#include <cstdint>
#include <span>
#include <vector>

#include "meshwise/array/local_array.hpp"

namespace meshwise::detail {

/// Local. Real numbers have keys of as many bits: unsigned numbers of the same order (or the reverse one, where it descends).
bool has_sort_keys(Dtype dtype);

/// Local. Of the sorted [n] how many elements have a smaller key, and how many have that one.
struct KeyRange {
  std::int64_t less = 0, equal = 0;
};
KeyRange run_key_range(const LocalArray& sorted, std::uint64_t key, bool descending);

/// Local. Merges runs of one block that are sorted, `ends` of each: of equal elements those of earlier runs come first. Places (int32, int64) go with the values, where there are any.
struct Runs {
  LocalArray values{}, places{};
};
Runs run_merge(const Runs& runs, std::vector<std::int64_t> ends, bool descending);

}  // namespace meshwise::detail

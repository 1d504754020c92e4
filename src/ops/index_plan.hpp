#pragma once
// What x[items...] means, axis by axis: the part of room ops that reads and updates share.

#include <cstdint>
#include <span>
#include <vector>

#include "meshwise/array/array.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/plan/propagation.hpp"

namespace meshwise::detail {

/// Local. Python's rule for a slice of an axis of length n: start and step, and how many. Throws: IndexError for step 0.
struct Cut {
  std::int64_t start, step, count;
};
Cut cut_of(const Slice& slice, std::int64_t n, std::int64_t axis);

/// Local. How many of x's axes the items don't name. Throws: IndexError for more items than axes, or two ellipses.
std::int64_t unnamed_axes(std::span<const IndexExpression> items, const Array& x);

/// Local. The index counted from the front. Throws: IndexError naming axis and length.
std::int64_t index_in_range(std::int64_t index, const Array& x, std::int64_t axis);

/// Local. Where an index of an array points on an axis of length n; -1: nowhere.
std::int64_t resolved_index(std::int64_t index, std::int64_t n, IndexMode mode);
/// Collective. Integers as int64; those beyond it as large ones.
Array wide_indices(const Array& indices);

/// Local. One axis of x: a range, or one index, or the indices of arrays[number].
struct IndexedAxis {
  enum class Kind : std::uint8_t { range, fixed, array } kind = Kind::range;
  std::int64_t start = 0, step = 1, count = 1;
  std::size_t number = 0;
};

struct IndexPlan {
  std::vector<IndexedAxis> axes{};     // of x
  std::vector<std::int64_t> ranges{};  // of the result's axes that are not the arrays': the axis of x, -1 for a new one
  std::int64_t place = 0;              // how many of them stand before the arrays' axes
  std::vector<Array> arrays{};         // integers
  Shape indices{};                     // their common shape
  Shape shape{};                       // of the result
  std::vector<IndexItem> items{};      // as the layout rules see them
};
/// Collective (Synchronising where a mask is among the items). Throws: IndexError, DtypeError.
IndexPlan plan_index(const Array& x, std::span<const IndexExpression> items);

}  // namespace meshwise::detail

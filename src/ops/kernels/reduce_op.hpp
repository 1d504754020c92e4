#pragma once
// What a reduction is to the machinery: a row of loops over an accumulator, one a dtype. Adding a reduction adds one table entry.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "meshwise/array/local_array.hpp"
#include "meshwise/base/dtype.hpp"

namespace meshwise::detail {

/// Rows are summed in groups, the groups then: the pairwise rule for columns. What a byte counts to.
constexpr std::int64_t row_group = 248;
/// What a row's columns are gathered in stays in the nearest cache while the rows go by.
constexpr std::int64_t row_tile = 4096;

/// Local. One dtype's loops. Accumulators are dense, of `width` bytes. `index` is an element's number along what is reduced; argmax keeps it.
struct ReduceSlot {
  Dtype accumulator = Dtype::float32;  // whose elements are the partial results (candidates of argmax: 16 opaque bytes)
  std::size_t width = 0;
  /// Sets `count` accumulators to the reduction of nothing.
  void (*clear)(std::byte* accumulators, std::int64_t count) = nullptr;
  /// Accumulator i takes in run i of `runs`, which are `run_step` elements apart: `count` elements, `stride` elements apart, numbered index,
  /// index + index_step, ...
  void (*runs)(const std::byte* x, std::int64_t stride, std::int64_t count, std::int64_t runs, std::int64_t run_step,
               std::byte* accumulators, std::int64_t index, std::int64_t index_step) = nullptr;
  /// Accumulator i takes in element i, `stride` elements apart, of `rows` rows that are `row_step` elements apart: at most row_group and row_tile.
  void (*rows)(const std::byte* x, std::int64_t stride, std::int64_t columns, std::int64_t rows, std::int64_t row_step,
               std::byte* accumulators, std::int64_t index, std::int64_t index_step) = nullptr;
  /// accumulators[i] takes in others[i]: partial results of other devices, in group order.
  void (*merge)(std::byte* accumulators, const std::byte* others, std::int64_t count) = nullptr;
};

enum class ReduceResult : std::uint8_t {
  total,    // sum, prod: small integers widen to 32 bits, bool counts in int32
  average,  // mean: integers become float32, 64-bit ones float64
  same,     // max, min
  truth,    // all, any: bool
  position  // argmax, argmin, count_nonzero: int32, or int64 where the extent reaches 2^31
};

struct ReduceOp {
  const char* name = "";
  ReduceResult result = ReduceResult::same;
  bool has_empty = true;        // there is a value for the reduction of nothing
  bool keeps_position = false;  // accumulators are candidates: a value and its number
  std::array<ReduceSlot, 15> slots{};
  bool sums = false;            // adds elements up: there is a deterministic way

  const ReduceSlot& slot(Dtype dtype) const { return slots[static_cast<std::size_t>(dtype)]; }
  bool allows(Dtype dtype) const { return slot(dtype).runs != nullptr; }
};

/// Local. Which axes of an array go, and the number of an element: the sum over reduced axes of (global coordinate) * step.
struct ReducePlan {
  std::vector<bool> reduced{};          // per axis
  PerAxis<std::int64_t> index_steps{};  // per axis; used for reduced ones
  std::int64_t first_index = 0;         // of the block's first element
};

/// Local. The accumulators of x's elements, dense, of `shape` (x's shape without the reduced axes, or with them 1 long).
LocalArray run_reduce(const ReduceOp& op, const LocalArray& x, const ReducePlan& plan, const Shape& shape);

/// Local. Accumulators as results: rounded once, divided by `count` first where that is not 1.
LocalArray finish_totals(const LocalArray& accumulators, std::int64_t count, Dtype dtype);
/// Local. The values of floating `dtype` that max and min accumulate as integers of the same order and width.
LocalArray finish_extremes(const LocalArray& orders, Dtype dtype);
/// Local. The positions that candidates hold.
LocalArray finish_positions(const LocalArray& candidates, Dtype dtype);

namespace op {
extern const ReduceOp sum, prod, mean, max, min, all, any, count_nonzero, argmax, argmin;
}

}  // namespace meshwise::detail

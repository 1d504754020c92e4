#pragma once
// Parts of arrays: x[...] with integers, slices and arrays of indices, what is true of a mask, and copies with parts replaced (at).

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "meshwise/array/array.hpp"

namespace meshwise {

/// Local. What an index array's entry beyond the axis means: clip to the end, fill with NaN (the least integer, the largest unsigned, true), or wrap around.
enum class IndexMode : std::uint8_t { clip, fill, wrap };

/// Collective. NumPy's indexing x[items...]: integers, slices, `none`, `ellipsis`. Values that leave no device move no bytes. Arrays of integers broadcast
/// together; their axes stand where they stood side by side, else in front; indices count from the end where negative, and are clipped. An array of bool stands for the
/// indices of what is true in it (Synchronising). `out_sharding` says the result's spec, as in all that follows. Throws: IndexError naming item, axis and length; ShardingTypeError.
Array getitem(const Array& x, const std::vector<IndexExpression>& items, const std::optional<PartitionSpec>& out_sharding = {});
/// Collective. x[starts[d] : limits[d] : strides[d]] on every axis (lax.slice); strides all 1 if empty. Throws: IndexError out of range.
Array slice(const Array& x, const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& limits,
            const std::vector<std::int64_t>& strides = {});
/// Collective. Elements of x along an axis by an integer array: [a, n, b] with indices [i, j] on axis 1 -> [a, i, j, b]. Negative indices count from
/// the end. x[indices] is take with IndexMode::clip on axis 0. Throws: DtypeError for indices that are no integers; IndexError for an axis out of range.
Array take(const Array& x, const Array& indices, std::int64_t axis = 0, IndexMode mode = IndexMode::fill,
           const std::optional<PartitionSpec>& out_sharding = {});

/// Collective. x[..., indices[..., j, ...], ...]: for each element of `indices` the element of x that its own place names but for that axis; the other axes
/// broadcast. Throws: ShapeError for another number of axes; DtypeError; IndexError.
Array take_along_axis(const Array& x, const Array& indices, std::int64_t axis = -1, IndexMode mode = IndexMode::fill);

/// Collective; Synchronising where a start is an Array, whose value is read. x[starts[d] : starts[d] + sizes[d]] on every axis (lax.dynamic_slice); a start is an integer or an
/// integer array without axes, counts from the end where negative, and is clamped so that the part lies in x. Throws: ShapeError for other numbers of starts or sizes, or a size
/// beyond the axis; DtypeError; CommitmentError.
Array dynamic_slice(const Array& x, const std::vector<Operand>& starts, const std::vector<std::int64_t>& sizes);
/// Collective or Synchronising alike. x with `update`, of its dtype, in place of the part that begins at the starts. Only what lies elsewhere moves: x's layout stays. Throws: as above;
/// ShardingTypeError.
Array dynamic_update_slice(const Array& x, const Array& update, const std::vector<Operand>& starts);

/// Synchronising. The indices of x's elements that are not zero, in row-major order: an int32[k] for each axis (int64 for one of 2^31 or more). With `size` the
/// first so many, and Collective; what is missing is `fill_value`. Whole on every device. Throws: ShapeError for a scalar.
std::vector<Array> nonzero(const Array& x, std::optional<std::int64_t> size = {}, std::int64_t fill_value = 0);

/// Local. x with a part replaced: at(x, {2, Slice(1, 4)}).set(0), at(x, {indices}).add(y).
class Update {
 public:
  Update(Array x, std::vector<IndexExpression> items, IndexMode mode) : x_(std::move(x)), items_(std::move(items)), mode_(mode) {}
  /// Collective. x with u, broadcast to the part, in its place or combined with what is there, in x's dtype and layout; of repeated indices each counts, in row-major order
  /// of the part. Indices out of range are left out (IndexMode::fill), clipped or wrapped. Throws: ShapeError when u does not broadcast; IndexError; ShardingTypeError.
  Array set(const Operand& u) const;
  Array add(const Operand& u) const;
  Array subtract(const Operand& u) const;
  Array multiply(const Operand& u) const;
  Array max(const Operand& u) const;
  Array min(const Operand& u) const;
  /// Collective. The part itself (lax's x.at[...].get); indices of arrays that are out of range give NaN or its like (IndexMode::fill), are clipped or wrapped.
  Array get(const std::optional<PartitionSpec>& out_sharding = {}) const;

 private:
  Array x_;
  std::vector<IndexExpression> items_;
  IndexMode mode_;
};
Update at(const Array& x, std::vector<IndexExpression> items, IndexMode mode = IndexMode::fill);

}  // namespace meshwise

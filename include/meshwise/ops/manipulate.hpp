#pragma once
// Shapes: the same elements under other axes, and arrays joined.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "meshwise/array/array.hpp"
#include "meshwise/plan/pad_mode.hpp"

namespace meshwise {

/// Collective. x's elements in row-major order under `shape` (one length may be -1). On Explicit axes `out_sharding` says the result's spec where
/// it is ambiguous. Throws: ShapeError naming both shapes; ShardingTypeError.
Array reshape(const Array& x, const Shape& shape, const std::optional<PartitionSpec>& out_sharding = {});
/// Collective. Result axis i is x's axis permutation[i]; reversed when empty. No bytes move. Throws: ShapeError, IndexError.
Array transpose(const Array& x, const std::vector<std::int64_t>& permutation = {});
/// Collective. The Array API's name for transpose with a permutation.
Array permute_dims(const Array& x, const std::vector<std::int64_t>& permutation);
/// Collective. [..., m, n] -> [..., n, m]. Throws: ShapeError below two axes.
Array matrix_transpose(const Array& x);
/// Collective. x with the axis at `source` moved to `destination`; with two axes exchanged.
Array moveaxis(const Array& x, std::int64_t source, std::int64_t destination);
Array swapaxes(const Array& x, std::int64_t axis1, std::int64_t axis2);
/// Collective. The same for several axes at once. Throws: ShapeError when the lists differ in length; IndexError.
Array moveaxis(const Array& x, const std::vector<std::int64_t>& sources, const std::vector<std::int64_t>& destinations);
/// Collective. A new axis of length 1 at `axis` of the result. Throws: IndexError.
Array expand_dims(const Array& x, std::int64_t axis = 0);
/// Collective. x without these axes of length 1 (all of them if none are named). Throws: ShapeError for another length.
Array squeeze(const Array& x, const std::vector<std::int64_t>& axes = {});
/// Collective. NumPy's broadcast of x to `shape`; `out_sharding` says the result's spec. Throws: ShapeError; ShardingTypeError where it is not x's on an axis of x that is cut.
Array broadcast_to(const Array& x, const Shape& shape, const std::optional<PartitionSpec>& out_sharding = {});
/// Collective. All arrays broadcast to their common shape. Throws: ShapeError.
std::vector<Array> broadcast_arrays(const std::vector<Array>& arrays);

/// Collective. Arrays joined along an axis they have: [a, n], [b, n] -> [a+b, n]; dtypes promote. Throws: ShapeError naming the shapes; CommitmentError.
Array concatenate(const std::vector<Array>& arrays, std::int64_t axis = 0);
/// Collective. The Array API's name for concatenate.
Array concat(const std::vector<Array>& arrays, std::int64_t axis = 0);
/// Collective. Arrays of one shape joined along a new axis: k of [n] -> [k, n]. Throws: ShapeError; CommitmentError.
Array stack(const std::vector<Array>& arrays, std::int64_t axis = 0);
/// Collective. The k arrays along an axis: [k, n] -> k of [n].
std::vector<Array> unstack(const Array& x, std::int64_t axis = 0);
/// Collective. The parts of x along an axis: so many equal ones, or the parts between these positions; array_split: as equal as they can be, the longer ones first.
/// Throws: ShapeError where the axis does not divide.
std::vector<Array> split(const Array& x, std::int64_t sections, std::int64_t axis = 0);
std::vector<Array> split(const Array& x, const std::vector<std::int64_t>& positions, std::int64_t axis = 0);
std::vector<Array> array_split(const Array& x, std::int64_t sections, std::int64_t axis = 0);
/// Collective. x beside itself, counts[d] times along axis d: [a, b] with (2, 3) -> [2a, 3b]; the shorter of counts and axes has ones in front. Throws: ShapeError
/// for a negative count.
Array tile(const Array& x, const std::vector<std::int64_t>& counts);
/// Collective. Each element so many times in a row along an axis (without one, x as a vector): [n] -> [n * count], or as many as the counts of the elements, [n], add up to. Throws: ShapeError.
Array repeat(const Array& x, std::int64_t count, std::optional<std::int64_t> axis = {});
Array repeat(const Array& x, const std::vector<std::int64_t>& counts, std::optional<std::int64_t> axis = {});
/// Synchronising. The same with the counts of an integer array [n], whose values are read. Throws: ShapeError, DtypeError.
Array repeat(const Array& x, const Array& counts, std::optional<std::int64_t> axis = {});
/// Collective. x with these axes reversed (all if none are named).
Array flip(const Array& x, const std::vector<std::int64_t>& axes = {});
/// Collective. Elements shifted by `shift` along an axis, or by shifts[i] along axes[i]; what leaves at one end enters at the other. Without an axis, in row-major order.
Array roll(const Array& x, std::int64_t shift, std::int64_t axis);
Array roll(const Array& x, const std::vector<std::int64_t>& shifts, const std::vector<std::int64_t>& axes);
Array roll(const Array& x, std::int64_t shift);
/// Collective. x with widths[d].first elements of `value` before and .second after it along axis d. Throws: ShapeError unless one pair an axis, none negative.
Array pad(const Array& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, const Scalar& value = 0);
/// Collective. The same with elements of x. Throws: ShapeError where an axis that is padded is empty.
Array pad(const Array& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, PadMode mode);

}  // namespace meshwise

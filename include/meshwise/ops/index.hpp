#pragma once
// Parts of arrays: basic indexing, slices, and rows by an array of indices.

#include <cstdint>
#include <vector>

#include "meshwise/array/array.hpp"

namespace meshwise {

/// Local. What an index array's entry beyond the axis means: clip to the end, fill with NaN (the least integer, the largest unsigned, true), or wrap around.
enum class IndexMode : std::uint8_t { clip, fill, wrap };

/// Collective. NumPy's basic indexing x[items...]: integers, slices, `none`, `ellipsis`. Values that leave no device move no bytes.
/// Throws: IndexError naming item, axis and length.
Array getitem(const Array& x, const std::vector<IndexExpression>& items);
/// Collective. x[starts[d] : limits[d] : strides[d]] on every axis (lax.slice); strides all 1 if empty. Throws: IndexError out of range.
Array slice(const Array& x, const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& limits,
            const std::vector<std::int64_t>& strides = {});
/// Collective. Elements of x along an axis by an integer array: [a, n, b] with indices [i, j] on axis 1 -> [a, i, j, b]. Negative indices count from
/// the end. x[indices] is take with IndexMode::clip on axis 0. Throws: DtypeError for indices that are no integers; IndexError for an axis out of range.
Array take(const Array& x, const Array& indices, std::int64_t axis = 0, IndexMode mode = IndexMode::fill);

}  // namespace meshwise

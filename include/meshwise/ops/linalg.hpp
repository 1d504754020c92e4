#pragma once
// Products of arrays: all are one operation, `einsum`, under their usual names (SEMANTICS 6.2).
//
//   matmul(float32[8@x,16@y], float32[16@y,4]) -> float32[8@x,4]: each device multiplies its blocks, the devices of one x add up.
//
// Dtypes promote; the product of small integers keeps its dtype and wraps, bool is or of ands, 16-bit floats accumulate in float32 and round once. Floats are within
// (n + 2) * eps / 2 * sum|x y| of exact for n summed products. On Explicit axes `out_sharding` says the result's spec where it is ambiguous.
// All throw ShapeError naming the shapes, ShardingTypeError, CommitmentError, DonatedError.

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "meshwise/array/array.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "meshwise/ops/matrix_parts.hpp"

namespace meshwise {

/// Collective. [n],[n] -> []; [m,k],[k,n] -> [m,n]; one-axis operands lose their axis; leading axes are batches and broadcast.
Array matmul(const Array& x, const Array& y, const std::optional<PartitionSpec>& out_sharding = {});
/// Collective. NumPy's dot: x's last axis against y's last but one, no batches: [a,b,k],[c,k,d] -> [a,b,c,d]. A scalar multiplies.
Array dot(const Array& x, const Array& y, const std::optional<PartitionSpec>& out_sharding = {});
/// Collective. Contracts x's last `axes` axes with y's first, or the axes listed for each.
Array tensordot(const Array& x, const Array& y, std::int64_t axes = 2);
Array tensordot(const Array& x, const Array& y, const std::vector<std::int64_t>& x_axes, const std::vector<std::int64_t>& y_axes);
/// Collective. sum(conj(x) * y) along one axis of both, counted from the back; the others broadcast.
Array vecdot(const Array& x, const Array& y, std::int64_t axis = -1);
/// Collective. [m],[n] -> [m,n]: every product.
Array outer(const Array& x, const Array& y);
/// Collective. "ij,jk->ik": axes with one letter go together, letters that the result lacks are summed; "..." stands for broadcast leading axes.
/// Without "->" the result has the letters that occur once, in alphabetical order. Any number of operands; they are multiplied from the left.
Array einsum(std::string_view subscripts, const std::vector<Array>& operands, const std::optional<PartitionSpec>& out_sharding = {});

namespace linalg {
// The Array API's extension names these too.
using meshwise::diagonal, meshwise::matmul, meshwise::matrix_transpose, meshwise::outer, meshwise::tensordot, meshwise::trace,
    meshwise::vecdot;
}  // namespace linalg

}  // namespace meshwise

#include "meshwise/ops/norms.hpp"

#include <cmath>

#include <fmt/format.h>

#include "meshwise/base/error.hpp"
#include "meshwise/ops/decompositions.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "meshwise/ops/operators.hpp"
#include "meshwise/ops/reduce.hpp"
#include "ops/kernels/elementwise_op.hpp"

namespace meshwise::linalg {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Array moduli(const Array& x) { return abs(x.astype(detail::work_dtype(detail::WorkRule::inexact, x.dtype()))); }

void check_matrix(const Array& x) {
  if (x.ndim() < 2) throw ShapeError(fmt::format("matrix_norm: argument x is {}; a matrix has two axes", type_string(x)));
}

// [...] of matrices, or [..., 1, 1].
Array kept(const Array& norms, bool keepdims) { return keepdims ? expand_dims(expand_dims(norms, norms.ndim()), norms.ndim() + 1) : norms; }

}  // namespace

Array vector_norm(const Array& x, const std::vector<std::int64_t>& axes, bool keepdims, double order) {
  const auto size = moduli(x);
  if (order == infinity) return max(size, axes, keepdims);
  if (order == -infinity) return min(size, axes, keepdims);
  if (order == 0) return sum(not_equal(size, 0).astype(size.dtype()), axes, keepdims);
  if (order == 1) return sum(size, axes, keepdims);
  // Squares of 16-bit floats leave their range.
  const auto wide = itemsize(size.dtype()) == 2 ? size.astype(float32) : size;
  const auto norms = order == 2 ? sqrt(sum(square(wide), axes, keepdims)) : pow(sum(pow(wide, order), axes, keepdims), 1 / order);
  return norms.astype(size.dtype());
}

Array matrix_norm(const Array& x, bool keepdims, std::string_view order) {
  check_matrix(x);
  if (order == "fro") return vector_norm(x, {-2, -1}, keepdims);
  if (order != "nuc") throw Error(fmt::format("matrix_norm: the order is \"fro\", \"nuc\" or a number, not \"{}\"", order));
  return kept(sum(svdvals(x), {-1}), keepdims);
}

Array matrix_norm(const Array& x, bool keepdims, double order) {
  check_matrix(x);
  const auto size = std::abs(order);
  if (size == 1 || size == infinity) {
    const auto sums = sum(moduli(x), {size == 1 ? -2 : -1});
    return kept(order > 0 ? max(sums, {-1}) : min(sums, {-1}), keepdims);
  }
  if (size != 2)
    throw Error(fmt::format("matrix_norm: the order is \"fro\", \"nuc\", 1, 2, infinity or one of these negative, not {}", order));
  const auto s = svdvals(x);
  return kept(order > 0 ? max(s, {-1}) : min(s, {-1}), keepdims);
}

Array cross(const Array& x, const Array& y, std::int64_t axis) {
  if (axis >= 0) axis -= std::max(x.ndim(), y.ndim());  // both count from the back
  const auto of = [&](const Array& v, std::int64_t i) {
    const auto at = normalize_axis(axis, v.ndim(), "cross");
    if (v.shape()[at] != 3)
      throw ShapeError(fmt::format("cross: argument {} has length {} along axis {}, not 3", type_string(v), v.shape()[at], at));
    std::vector<IndexExpression> items(static_cast<std::size_t>(at), IndexExpression(Slice()));
    items.emplace_back(i);
    return getitem(v, items);
  };
  std::vector<Array> parts;
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto j = (i + 1) % 3, k = (i + 2) % 3;
    parts.push_back(of(x, j) * of(y, k) - of(x, k) * of(y, j));
  }
  return stack(parts, parts[0].ndim() + 1 + axis);
}

}  // namespace meshwise::linalg

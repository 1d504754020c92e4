#include "meshwise/ops/decompositions.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "array/dispatch.hpp"
#include "meshwise/array/create.hpp"
#include "meshwise/array/device_put.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/linalg.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "meshwise/ops/operators.hpp"
#include "meshwise/ops/reduce.hpp"
#include "ops/kernels/contract.hpp"
#include "ops/kernels/elementwise_op.hpp"
#include "ops/kernels/lapack.hpp"
#include "ops/split_axis.hpp"

namespace meshwise::linalg {

namespace {

using detail::KernelContext;
using detail::Request;

std::int64_t rows_of(const Array& x) { return x.shape()[x.ndim() - 2]; }
std::int64_t columns_of(const Array& x) { return x.shape()[x.ndim() - 1]; }

void check_matrix(const char* name, const Array& x, bool square = false) {
  if (x.ndim() < 2) throw ShapeError(fmt::format("{}: argument x is {}; a matrix has two axes", name, type_string(x)));
  if (square && rows_of(x) != columns_of(x))
    throw ShapeError(fmt::format("{}: argument x is {}; the matrix is not square", name, type_string(x)));
}

// In the dtype that LAPACK computes in.
Array computed(const Array& x) {
  const auto dtype = detail::work_dtype(detail::WorkRule::inexact, x.dtype());
  return x.astype(itemsize(dtype) == 2 ? float32 : dtype);
}
Dtype result_dtype(const Array& x) { return detail::work_dtype(detail::WorkRule::inexact, x.dtype()); }
Dtype real_dtype(Dtype dtype) { return dtype == complex64 ? float32 : dtype == complex128 ? float64 : dtype; }

Request request_of(const char* name, LayoutRule rule, std::span<const Operand> operands) {
  const auto& x = *operands[0].array();
  Request request;
  request.operation = name;
  request.rule = rule;
  request.attributes.axes = {x.ndim() - 2, x.ndim() - 1};
  request.operands = operands;
  request.shape = x.shape();
  request.dtype = x.dtype();
  return request;
}

// x with whole matrices. Where Explicit axes cut them, the rule says so.
Array with_whole_matrices(const char* name, const Array& x) {
  const auto split = [&](std::int64_t axis) { return detail::split_of(x, axis).parts > 1; };
  if (!split(x.ndim() - 2) && !split(x.ndim() - 1)) return x;
  if (x.sharding().mesh().is_explicit()) {
    const Operand operands[] = {x};
    auto request = request_of(name, LayoutRule::worked_axis, operands);
    request.kernel = [](std::span<const LocalArray> in, const KernelContext&) { return in[0]; };
    return detail::dispatch(request);  // throws
  }
  auto entries = x.sharding().spec().entries();
  entries.resize(static_cast<std::size_t>(x.ndim() - 2));
  return reshard(x, NamedSharding(x.sharding().mesh(), PartitionSpec(entries)));
}

// What f makes of each matrix, [..., 1, total].
template <class F>
Array packed(const char* name, const Array& x, std::int64_t total, F f) {
  const Operand operands[] = {with_whole_matrices(name, computed(x))};
  auto request = request_of(name, LayoutRule::blockwise, operands);
  request.shape[x.ndim() - 2] = 1;
  request.shape[x.ndim() - 1] = total;
  request.kernel = [f](std::span<const LocalArray> in, const KernelContext&) { return f(in[0]); };
  return detail::dispatch(request);
}

// The next array of what is packed: of this shape behind the batches.
class Unpacked {
 public:
  Unpacked(Array packed, Dtype dtype) : packed_(std::move(packed)), dtype_(dtype) {}
  Array next(const Shape& shape) {
    const auto count = shape.num_elements();
    auto whole = packed_.shape();
    whole.erase(whole.ndim() - 1);
    whole.erase(whole.ndim() - 1);
    for (const auto length : shape) whole.push_back(length);
    const auto part = getitem(packed_, {ellipsis, 0, Slice(at_, at_ + count)});
    at_ += count;
    return reshape(part, whole).astype(dtype_);
  }
  Array next_real(const Shape& shape) {
    const auto part = next(shape);
    return is_complex(part.dtype()) ? real(part) : part;
  }

 private:
  Array packed_;
  Dtype dtype_;
  std::int64_t at_ = 0;
};

// A matrix cut along its rows, each part at least as tall as wide: the rows' own factors first, then that of what is left of all of them.
bool is_tall_and_cut(const Array& x) {
  if (x.ndim() != 2 || !detail::works_in_parts(x, 0) || detail::split_of(x, 1).parts > 1) return false;
  return rows_of(x) / detail::split_of(x, 0).parts >= columns_of(x);
}

LocalArray copy_of(const LocalArray& x) {
  LocalArray out(x.shape(), x.dtype());
  copy_values(x, out);
  return out;
}

// Rows times a matrix, in their place.
void multiply_rows(const LocalArray& rows, const LocalArray& matrix) {
  constexpr std::int64_t at_a_time = 1024;
  for (std::int64_t row = 0; row < rows.shape()[0]; row += at_a_time) {
    const LocalArray some = rows.box({{row, std::min(row + at_a_time, rows.shape()[0])}, {0, rows.shape()[1]}});
    const LocalArray inputs[] = {some, matrix};
    copy_values(detail::run_contract("ij,jk->ik", rows.dtype(), inputs), some);
  }
}

// The q of what is left of all parts, [parts * n, n], and the r, which is that of all.
Qr factor_rests(const Array& x) {
  const Operand operands[] = {x};
  auto request = request_of("qr", LayoutRule::blockwise, operands);
  request.shape[0] = detail::split_of(x, 0).parts * columns_of(x);
  request.kernel = [](std::span<const LocalArray> in, const KernelContext&) { return detail::factor_tall(copy_of(in[0]), false); };
  return qr(reshard(detail::dispatch(request), NamedSharding(x.sharding().mesh(), P())));
}

// Each part's own q times its rows of `right`.
Array tall_q(const Array& x, const Array& right) {
  const auto parts = detail::split_of(x, 0).parts, m = rows_of(x), n = columns_of(x);
  const Operand operands[] = {x, reshape(right, {parts, n, n})};
  auto request = request_of("qr", LayoutRule::blockwise, operands);
  request.kernel = [=](std::span<const LocalArray> in, const KernelContext& context) {
    const auto part = detail::part_that_begins_at(context.result_box[0].start, m, parts);
    auto q = copy_of(in[0]);
    detail::factor_tall(q, true);
    multiply_rows(q, in[1].box(Index{Range{part, part + 1}, Range{0, n}, Range{0, n}}).reshaped({n, n}));
    return q;
  };
  return detail::dispatch(request);
}

Qr tall_qr(const Array& given) {
  const auto x = computed(given);
  const auto rests = factor_rests(x);
  return {tall_q(x, rests.q).astype(result_dtype(given)), rests.r.astype(result_dtype(given))};
}

}  // namespace

Array cholesky(const Array& x, bool upper) {
  check_matrix("cholesky", x, true);
  const auto n = columns_of(x);
  return Unpacked(packed("cholesky", x, n * n, [=](const LocalArray& block) { return detail::run_cholesky(block, upper); }),
                  result_dtype(x))
      .next({n, n});
}

Qr qr(const Array& x, QrMode mode) {
  check_matrix("qr", x);
  if (mode == QrMode::reduced && is_tall_and_cut(x)) return tall_qr(x);
  const bool complete = mode == QrMode::complete;
  const auto m = rows_of(x), n = columns_of(x), k = complete ? m : std::min(m, n);
  Unpacked all(packed("qr", x, m * k + k * n, [=](const LocalArray& block) { return detail::run_qr(block, complete); }), result_dtype(x));
  auto q = all.next({m, k});
  return {std::move(q), all.next({k, n})};
}

Eigh eigh(const Array& x) {
  check_matrix("eigh", x, true);
  const auto n = columns_of(x);
  Unpacked all(packed("eigh", x, n + n * n, detail::run_eigh), result_dtype(x));
  auto eigenvalues = all.next_real({n});
  return {std::move(eigenvalues), all.next({n, n})};
}

Array eigvalsh(const Array& x) { return eigh(x).eigenvalues; }

Svd svd(const Array& x, bool full_matrices) {
  check_matrix("svd", x);
  if (!full_matrices && is_tall_and_cut(x)) {
    const auto rests = factor_rests(computed(x));
    const auto inner = svd(rests.r, false);
    const auto dtype = result_dtype(x);
    return {tall_q(computed(x), matmul(rests.q, inner.u)).astype(dtype), inner.s.astype(real_dtype(dtype)), inner.vh.astype(dtype)};
  }
  const auto m = rows_of(x), n = columns_of(x), k = std::min(m, n);
  const auto p = full_matrices ? m : k, q = full_matrices ? n : k;
  Unpacked all(packed("svd", x, m * p + k + q * n, [=](const LocalArray& block) { return detail::run_svd(block, full_matrices); }),
               result_dtype(x));
  auto u = all.next({m, p});
  auto s = all.next_real({k});
  return {std::move(u), std::move(s), all.next({q, n})};
}

Array svdvals(const Array& x) { return svd(x, false).s; }

Array solve(const Array& x, const Array& b) {
  check_matrix("solve", x, true);
  const auto n = columns_of(x);
  const bool vector = b.ndim() == 1;
  if (b.ndim() == 0 || b.shape()[vector ? 0 : b.ndim() - 2] != n)
    throw ShapeError(fmt::format("solve: argument b is {}, and x is {}: b has a row for each of x's", type_string(b), type_string(x)));
  const auto dtype = promote_types(result_dtype(x), result_dtype(b));
  const auto right = vector ? expand_dims(b, 1) : b;
  auto of_x = x.shape(), of_b = right.shape();
  for (int axis = 0; axis < 2; ++axis) {
    of_x.erase(of_x.ndim() - 1);
    of_b.erase(of_b.ndim() - 1);
  }
  auto batches = broadcast_shapes(of_x, of_b, "solve");
  const auto k = columns_of(right);
  auto x_shape = batches, b_shape = batches;
  for (const auto length : {n, n}) x_shape.push_back(length);
  for (const auto length : {n, k}) b_shape.push_back(length);
  const auto work = itemsize(dtype) == 2 ? float32 : dtype;
  const auto spread = [&](const Array& y, const Shape& shape) { return y.shape() == shape ? y : broadcast_to(y, shape); };
  const Operand operands[] = {with_whole_matrices("solve", spread(x.astype(work), x_shape)),
                              with_whole_matrices("solve", spread(right.astype(work), b_shape))};
  auto request = request_of("solve", LayoutRule::blockwise, operands);
  request.shape[request.shape.ndim() - 2] = 1;
  request.shape[request.shape.ndim() - 1] = n * k;
  request.kernel = [](std::span<const LocalArray> in, const KernelContext&) { return detail::run_solve(in[0], in[1]); };
  Unpacked all(detail::dispatch(request), dtype);
  return vector ? all.next({n}) : all.next({n, k});
}

Array inv(const Array& x) {
  check_matrix("inv", x, true);
  return solve(x, eye(columns_of(x), {}, 0, computed(x).dtype())).astype(result_dtype(x));
}

namespace {

// The least singular value that counts, [..., 1].
Array cutoff(const Array& x, const Array& s, std::optional<double> rtol) {
  const auto eps =
      s.dtype() == float64 ? std::numeric_limits<double>::epsilon() : static_cast<double>(std::numeric_limits<float>::epsilon());
  const auto relative = rtol.value_or(static_cast<double>(std::max(rows_of(x), columns_of(x))) * eps);
  return max(s, {-1}, true) * relative;
}

}  // namespace

Array pinv(const Array& x, std::optional<double> rtol) {
  check_matrix("pinv", x);
  if (rows_of(x) == 0 || columns_of(x) == 0) return conj(matrix_transpose(computed(x))).astype(result_dtype(x));
  const auto [u, s, vh] = svd(computed(x), false);
  const auto above = greater(s, cutoff(x, s, rtol));
  const auto inverse = where(above, reciprocal(where(above, s, 1)), 0);
  const auto scaled = conj(matrix_transpose(vh)) * expand_dims(inverse, inverse.ndim() - 1);
  return matmul(scaled, conj(matrix_transpose(u))).astype(result_dtype(x));
}

Array matrix_rank(const Array& x, std::optional<double> rtol) {
  check_matrix("matrix_rank", x);
  const auto s = svdvals(computed(x));
  if (s.shape()[s.ndim() - 1] == 0) return count_nonzero(s, {-1});
  return count_nonzero(greater(s, cutoff(x, s, rtol)), {-1});
}

Slogdet slogdet(const Array& x) {
  check_matrix("slogdet", x, true);
  Unpacked all(packed("slogdet", x, 2, detail::run_determinant), result_dtype(x));
  auto sign = all.next({});
  return {std::move(sign), all.next_real({})};
}

Array det(const Array& x) {
  check_matrix("det", x, true);
  const auto [sign, logarithm] = slogdet(computed(x));
  return (sign * exp(logarithm)).astype(result_dtype(x));
}

Array matrix_power(const Array& x, std::int64_t power) {
  check_matrix("matrix_power", x, true);
  if (power < 0) return matrix_power(inv(x), -power);
  Array out, square = x;
  for (; power > 0; power /= 2) {
    if (power % 2 == 1) out = out.is_set() ? matmul(out, square) : square;
    if (power > 1) square = matmul(square, square);
  }
  if (out.is_set()) return out;
  return add(zeros_like(x), eye(columns_of(x), {}, 0, x.dtype()));
}

}  // namespace meshwise::linalg

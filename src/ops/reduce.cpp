#include "meshwise/ops/reduce.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "meshwise/array/create.hpp"
#include "meshwise/ops/deterministic.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "ops/apply.hpp"
#include "ops/axes.hpp"
#include "ops/inexact.hpp"
#include "ops/kernels/fixed_sum.hpp"
#include "ops/kernels/reduce_op.hpp"
#include "ops/tiles.hpp"

namespace meshwise {

namespace {

using detail::KernelContext;
using detail::ReduceOp;
using detail::ReducePlan;
using detail::ReduceResult;
namespace op = detail::op;

using Axes = std::vector<std::int64_t>;

std::vector<std::int64_t> all_axes(const Array& x) {
  Axes axes(static_cast<std::size_t>(x.ndim()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Dtype result_dtype(const ReduceOp& op, Dtype dtype, std::int64_t extent) {
  switch (op.result) {
    case ReduceResult::total:
      if (dtype == bool_ || (kind(dtype) == DtypeKind::signed_integer && itemsize(dtype) < 4)) return int32;
      return kind(dtype) == DtypeKind::unsigned_integer && itemsize(dtype) < 4 ? uint32 : dtype;
    case ReduceResult::average:
      return detail::work_dtype(detail::WorkRule::inexact, dtype);
    case ReduceResult::truth:
      return bool_;
    case ReduceResult::position:
      return extent >= std::int64_t{1} << 31 ? int64 : int32;
    default:
      return dtype;
  }
}

struct Reduced {
  Axes axes;
  bool keepdims = false;
  std::optional<Dtype> dtype{};
  bool numbered_over_all = false;  // positions count through all axes, not along one
};

void check(const ReduceOp& op, const Array& x, const Reduced& how, std::int64_t count) {
  if (!op.allows(x.dtype()))
    throw DtypeError(
        fmt::format("{}: not defined for argument x, {}: {} have no order; it takes {}. Reduce abs(x), real(x) or imag(x) instead", op.name,
                    type_string(x.dtype(), x.shape()), name(x.dtype()), detail::dtypes_where([&](Dtype d) { return op.allows(d); })));
  if (op.has_empty || count > 0) return;
  const auto empty = *std::find_if(how.axes.begin(), how.axes.end(), [&](auto axis) { return x.shape()[axis] == 0; });
  throw ShapeError(
      fmt::format("{}: zero-size array has no {}: argument x is {}, and axis {}, which is reduced, has length 0. Give it elements, or "
                  "where() a default",
                  op.name, op.name, type_string(x.dtype(), x.shape()), empty));
}

Shape ones_at(Shape shape, const Axes& axes) {
  for (const auto axis : axes) shape[axis] = 1;
  return shape;
}

// In deterministic mode: the largest magnitude first, and with it sums of integers.
Array fixed_sum(const ReduceOp& op, const Array& x, const Reduced& how, std::int64_t count, detail::Request& request) {
  const auto largest = is_complex(x.dtype()) ? maximum(abs(real(x)), abs(imag(x))) : abs(x);
  const Operand operands[] = {x, count == 0 ? zeros(ones_at(x.shape(), how.axes), largest.dtype()) : max(largest, how.axes, true)};
  std::vector<bool> reduced;
  for (std::int64_t d = 0; d < x.ndim(); ++d) reduced.push_back(std::find(how.axes.begin(), how.axes.end(), d) != how.axes.end());
  request.operands = operands;
  request.kernel = [reduced](std::span<const LocalArray> inputs, const KernelContext& context) {
    return detail::run_fixed_sum(inputs[0], inputs[1], reduced, context.result_box.shape());
  };
  detail::Reduction reduction;
  reduction.combine = detail::merge_fixed_sums;
  reduction.partials = complex128;
  reduction.itemsize = detail::fixed_sum_bytes;
  const auto over = op.result == ReduceResult::average ? count : 1;
  reduction.finish = [over, dtype = request.dtype](const LocalArray& totals) {
    Shape shape;
    for (std::int64_t d = 0; d + 1 < totals.ndim(); ++d) shape.push_back(totals.shape()[d]);
    return detail::finish_totals(detail::finish_fixed_sums(totals, shape), over, dtype);
  };
  request.reduction = std::move(reduction);
  return dispatch(request);
}

Array reduce(const ReduceOp& op, const Array& x, const Reduced& how) {
  const auto keep = [&](std::int64_t d) { return std::find(how.axes.begin(), how.axes.end(), d) == how.axes.end(); };
  std::int64_t count = 1;
  ReducePlan plan;
  plan.index_steps = how.numbered_over_all ? row_major_strides(x.shape()) : PerAxis<std::int64_t>(static_cast<std::size_t>(x.ndim()), 1);
  detail::Request request;
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    plan.reduced.push_back(!keep(d));
    if (!keep(d)) count *= x.shape()[d];
    if (keep(d) || how.keepdims) request.shape.push_back(keep(d) ? x.shape()[d] : 1);
  }
  check(op, x, how, count);

  const Operand operands[] = {x};
  request.operation = op.name;
  request.rule = op.result == ReduceResult::position ? LayoutRule::arg_reduce : LayoutRule::reduce;
  request.attributes.axes = how.axes;
  request.attributes.keepdims = how.keepdims;
  request.operands = operands;
  request.dtype = how.dtype ? *how.dtype : result_dtype(op, x.dtype(), count);
  if (is_deterministic() && op.sums && detail::is_inexact(x.dtype())) return fixed_sum(op, x, how, count, request);
  request.tiling = detail::Tiling::fold;
  request.kernel = [plan, &op](std::span<const LocalArray> inputs, const KernelContext& context) {  // op stands in a table
    auto here = plan;
    for (std::int64_t d = 0; d < inputs[0].ndim(); ++d)
      if (here.reduced[static_cast<std::size_t>(d)])
        here.first_index += context.operand_boxes[0][d].start * here.index_steps[static_cast<std::size_t>(d)];
    return run_reduce(op, inputs[0], here, context.result_box.shape());
  };
  detail::Reduction reduction;
  reduction.combine = op.slot(x.dtype()).merge;
  reduction.partials = op.slot(x.dtype()).accumulator;
  if (op.keeps_position) {
    reduction.finish = [dtype = request.dtype](const LocalArray& partials) { return detail::finish_positions(partials, dtype); };
  } else if (op.result == ReduceResult::same && is_floating(x.dtype())) {
    reduction.finish = [dtype = request.dtype](const LocalArray& partials) { return detail::finish_extremes(partials, dtype); };
  } else {
    const auto over = op.result == ReduceResult::average ? count : 1;
    reduction.finish = [over, dtype = request.dtype](const LocalArray& partials) { return detail::finish_totals(partials, over, dtype); };
  }
  request.reduction = std::move(reduction);
  return dispatch(request);
}

Array reduce(const ReduceOp& op, const Array& x, const Axes& axes, bool keepdims, std::optional<Dtype> dtype = {}) {
  Reduced how{axes.empty() ? all_axes(x) : detail::distinct_axes(axes, x.ndim(), op.name), keepdims, dtype};
  return reduce(op, dtype ? x.astype(*dtype) : x, how);
}

Array arg_reduce(const ReduceOp& op, const Array& x, std::optional<std::int64_t> axis, bool keepdims) {
  if (axis) return reduce(op, x, {{normalize_axis(*axis, x.ndim(), op.name)}, keepdims});
  return reduce(op, x, {all_axes(x), keepdims, {}, true});
}

}  // namespace

Array sum(const Array& x, const Axes& axes, bool keepdims, std::optional<Dtype> dtype) { return reduce(op::sum, x, axes, keepdims, dtype); }
Array prod(const Array& x, const Axes& axes, bool keepdims, std::optional<Dtype> dtype) {
  return reduce(op::prod, x, axes, keepdims, dtype);
}
Array mean(const Array& x, const Axes& axes, bool keepdims) { return reduce(op::mean, x, axes, keepdims); }
Array max(const Array& x, const Axes& axes, bool keepdims) { return reduce(op::max, x, axes, keepdims); }
Array min(const Array& x, const Axes& axes, bool keepdims) { return reduce(op::min, x, axes, keepdims); }
Array all(const Array& x, const Axes& axes, bool keepdims) { return reduce(op::all, x, axes, keepdims); }
Array any(const Array& x, const Axes& axes, bool keepdims) { return reduce(op::any, x, axes, keepdims); }
Array count_nonzero(const Array& x, const Axes& axes, bool keepdims) { return reduce(op::count_nonzero, x, axes, keepdims); }
Array argmax(const Array& x, std::optional<std::int64_t> axis, bool keepdims) { return arg_reduce(op::argmax, x, axis, keepdims); }
Array argmin(const Array& x, std::optional<std::int64_t> axis, bool keepdims) { return arg_reduce(op::argmin, x, axis, keepdims); }

Array var(const Array& x, const Axes& axes, bool keepdims, double correction) {
  const auto reduced = axes.empty() ? all_axes(x) : detail::distinct_axes(axes, x.ndim(), "var");
  double count = -correction, elements = 1;
  for (const auto axis : reduced) elements *= static_cast<double>(x.shape()[axis]);
  count += elements;
  const auto result = detail::work_dtype(detail::WorkRule::inexact, x.dtype());
  // The 16-bit floats have neither the digits for a mean nor the range for squares.
  const auto work = itemsize(result) == 2 ? float32 : result;
  const auto real_work = work == complex64 ? float32 : work == complex128 ? float64 : work;
  const auto divisor = count > 0 ? count : std::numeric_limits<double>::quiet_NaN();
  const auto middle = mean(x.astype(work), reduced, true);
  const auto squares_of = [=](std::span<const LocalArray> in) {
    using detail::step;
    const auto off = step(op::subtract, work, detail::run_astype(in[0], work), in[1]);
    if (!is_complex(work)) return step(op::square, work, off);
    return step(op::add, real_work, step(op::square, real_work, step(op::real, work, off)), step(op::square, real_work, step(op::imag, work, off)));
  };
  const auto spread = (is_deterministic() ? sum(detail::map_tiles("var", {x, middle}, real_work, squares_of), reduced, keepdims)
                                          : detail::sum_tiles("var", x, middle, reduced, keepdims, real_work, real_work, squares_of)) /
                      divisor;
  return spread.astype(itemsize(result) == 2 ? result : spread.dtype());
}

Array stddev(const Array& x, const Axes& axes, bool keepdims, double correction) {
  const auto result = detail::work_dtype(detail::WorkRule::inexact, x.dtype());
  // The root is rounded once, from the spread's float32.
  if (itemsize(result) == 2) return sqrt(var(x.astype(float32), axes, keepdims, correction)).astype(result);
  return sqrt(var(x, axes, keepdims, correction));
}

Array Array::sum(const Axes& axes, bool keepdims) const { return meshwise::sum(*this, axes, keepdims); }
Array Array::mean(const Axes& axes, bool keepdims) const { return meshwise::mean(*this, axes, keepdims); }

}  // namespace meshwise

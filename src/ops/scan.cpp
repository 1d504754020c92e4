#include "meshwise/ops/scan.hpp"

#include <fmt/format.h>

#include "array/dispatch.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/ops/deterministic.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "ops/inexact.hpp"
#include "ops/kernels/elementwise_op.hpp"
#include "ops/kernels/scan.hpp"
#include "ops/split_axis.hpp"
#include "ops/tiles.hpp"

namespace meshwise {

namespace {

using detail::KernelContext;
using detail::Request;
using detail::ScanOp;

Dtype result_dtype(ScanOp op, Dtype dtype) {
  if (dtype == bool_) return int32;
  if (op == ScanOp::prod || !is_integer(dtype) || itemsize(dtype) >= 4) return dtype;
  return kind(dtype) == DtypeKind::unsigned_integer ? uint32 : int32;
}

Request request_of(const char* name, LayoutRule rule, std::span<const Operand> operands, std::int64_t axis, Dtype dtype) {
  Request request;
  request.operation = name;
  request.rule = rule;
  request.attributes.axes = {axis};
  request.operands = operands;
  request.shape = operands[0].array()->shape();
  request.dtype = dtype;
  return request;
}

// The totals of each part of a split axis: the axis is as long as there are parts, and each device has its own.
Array totals_of_parts(const char* name, ScanOp op, const Array& x, std::int64_t axis, Dtype dtype, std::int64_t parts) {
  const Operand operands[] = {x};
  auto request = request_of(name, LayoutRule::blockwise, operands, axis, detail::scan_accumulator(dtype));
  request.shape[axis] = parts;
  request.kernel = [=](std::span<const LocalArray> in, const KernelContext&) { return detail::run_totals(op, in[0], axis, dtype); };
  return detail::dispatch(request);
}

Array scan_parts(const char* name, ScanOp op, const Array& x, std::int64_t axis, Dtype dtype, std::int64_t parts) {
  const auto n = x.shape()[axis];
  const Operand operands[] = {x, totals_of_parts(name, op, x, axis, dtype, parts)};
  auto request = request_of(name, LayoutRule::blockwise, operands, axis, dtype);
  request.kernel = [=](std::span<const LocalArray> in, const KernelContext& context) {
    const auto before = detail::part_that_begins_at(context.result_box[axis].start, n, parts);
    return detail::run_scan(op, in[0], axis, dtype, &in[1], before);
  };
  return detail::dispatch(request);
}

Array scan_whole(const char* name, ScanOp op, const Array& x, std::int64_t axis, Dtype dtype) {
  const Operand operands[] = {x};
  auto request = request_of(name, LayoutRule::worked_axis, operands, axis, dtype);
  request.kernel = [=](std::span<const LocalArray> in, const KernelContext&) {
    return detail::run_scan(op, in[0], axis, dtype, nullptr, 0);
  };
  return detail::dispatch(request);
}

Array cumulative(const char* name, ScanOp op, const Array& x, std::optional<std::int64_t> axis, std::optional<Dtype> dtype,
                 bool include_initial) {
  if (!axis && x.ndim() != 1)
    throw ShapeError(fmt::format("{}: argument x is {}, with {} axes: say along which", name, type_string(x), x.ndim()));
  const auto along = normalize_axis(axis.value_or(0), x.ndim(), name);
  const auto wanted = dtype.value_or(result_dtype(op, x.dtype()));
  if (wanted == bool_) throw DtypeError(fmt::format("{}: totals of dtype bool are not defined; count in int32", name));
  auto totals = detail::works_in_parts(x, along) && !(is_deterministic() && detail::is_inexact(wanted)) ? scan_parts(name, op, x, along, wanted, detail::split_of(x, along).parts)
                                                 : scan_whole(name, op, x, along, wanted);
  if (!include_initial) return totals;
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(x.ndim()));
  widths[static_cast<std::size_t>(along)].first = 1;
  return pad(totals, widths, op == ScanOp::sum ? 0 : 1);
}

}  // namespace

Array cumulative_sum(const Array& x, std::optional<std::int64_t> axis, std::optional<Dtype> dtype, bool include_initial) {
  return cumulative("cumulative_sum", ScanOp::sum, x, axis, dtype, include_initial);
}

Array cumulative_prod(const Array& x, std::optional<std::int64_t> axis, std::optional<Dtype> dtype, bool include_initial) {
  return cumulative("cumulative_prod", ScanOp::prod, x, axis, dtype, include_initial);
}

Array diff(const Array& x, std::int64_t axis, std::int64_t n, const std::optional<Array>& prepend, const std::optional<Array>& append) {
  if (x.ndim() == 0) throw ShapeError(fmt::format("diff: argument x is {}, a scalar: there is no axis", type_string(x)));
  if (n < 0) throw ShapeError(fmt::format("diff: n is {}; it counts how often, and is not negative", n));
  const auto along = normalize_axis(axis, x.ndim(), "diff");
  auto out = x;
  if (prepend || append) {
    std::vector<Array> joined;
    if (prepend) joined.push_back(*prepend);
    joined.push_back(x);
    if (append) joined.push_back(*append);
    out = concatenate(joined, along);
  }
  for (; n > 0; --n) {
    const auto length = out.shape()[along];
    std::vector<IndexExpression> later(static_cast<std::size_t>(along), IndexExpression(Slice())), earlier = later;
    later.emplace_back(Slice(std::min<std::int64_t>(1, length), none));
    earlier.emplace_back(Slice(0, std::max<std::int64_t>(length - 1, 0)));
    const auto dtype = out.dtype();
    const std::vector<Array> both{getitem(out, later), getitem(out, earlier)};
    out = Array();
    out = detail::map_tiles(
        "diff", both, dtype, [dtype](std::span<const LocalArray> in) { return detail::step(dtype == bool_ ? detail::op::not_equal : detail::op::subtract, dtype, in[0], in[1]); },
        detail::Memory::of_an_operand);
  }
  return out;
}

}  // namespace meshwise

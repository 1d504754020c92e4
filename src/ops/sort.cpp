#include "meshwise/ops/sort.hpp"

#include <fmt/format.h>

#include "array/dispatch.hpp"
#include "meshwise/array/create.hpp"
#include "meshwise/array/device_put.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "meshwise/ops/reduce.hpp"
#include "ops/index_dtype.hpp"
#include "ops/kernels/sort.hpp"
#include "ops/sort_parts.hpp"
#include "ops/split_axis.hpp"

namespace meshwise {

namespace {

using detail::KernelContext;
using detail::Request;

std::int64_t sorted_axis(const char* name, const Array& x, std::int64_t axis) {
  if (x.ndim() == 0) throw ShapeError(fmt::format("{}: argument x is {}, a scalar: there is no axis to sort along", name, type_string(x)));
  return normalize_axis(axis, x.ndim(), name);
}

Request request_of(const char* name, std::span<const Operand> operands, std::int64_t axis, Dtype dtype, bool descending) {
  Request request;
  request.operation = name;
  request.rule = LayoutRule::worked_axis;
  request.attributes.axes = {axis};
  request.operands = operands;
  request.shape = operands[0].array()->shape();
  request.dtype = dtype;
  request.salt = descending;
  return request;
}

// Of the other axes the one of which a device has the most.
std::int64_t longest_beside(const Array& x, std::int64_t axis) {
  std::int64_t best = -1, longest = -1;
  for (std::int64_t d = 0; d < x.ndim(); ++d)
    if (const auto length = x.shape()[d] / detail::split_of(x, d).parts; d != axis && length > longest) {
      best = d;
      longest = length;
    }
  return best;
}

Array sorted(const char* name, const Array& x, std::int64_t axis, bool descending, Dtype dtype, bool want_places) {
  const Operand operands[] = {x};
  auto request = request_of(name, operands, axis, dtype, descending);
  if (detail::works_in_parts(x, axis)) {
    if (x.ndim() == 1) return detail::sort_parts(request, descending, want_places);
    const auto along = longest_beside(x, axis);
    const auto lines = x.shape()[along] / detail::split_of(x, along).parts;
    if (lines >= detail::split_of(x, axis).parts || x.size() == 0) return detail::sort_lines(request, along, descending, want_places);
    // A few long lines: all devices work on each.
    auto parts = unstack(x, along);
    for (auto& one : parts) one = sorted(name, one, axis - (along < axis), descending, dtype, want_places);
    return reshard(stack(parts, along), x.sharding());
  }
  request.kernel = [=](std::span<const LocalArray> in, const KernelContext&) {
    return want_places ? detail::run_argsort(in[0], axis, descending, dtype) : detail::run_sort(in[0], axis, descending);
  };
  return detail::dispatch(request);
}

}  // namespace

Array sort(const Array& x, std::int64_t axis, bool descending) {
  const auto along = sorted_axis("sort", x, axis);
  return sorted("sort", x, along, descending, x.dtype(), false);
}

Array argsort(const Array& x, std::int64_t axis, bool descending) {
  const auto along = sorted_axis("argsort", x, axis);
  return sorted("argsort", x, along, descending, detail::index_dtype(x.shape()[along]), true);
}

Array searchsorted(const Array& x, const Array& values, Side side, const std::optional<Array>& sorter) {
  if (x.ndim() != 1) throw ShapeError(fmt::format("searchsorted: argument x is {}; what is searched has one axis", type_string(x)));
  if (sorter) return searchsorted(take(x, *sorter), values, side);
  const auto dtype = promote_types(x.dtype(), values.dtype()), result = detail::index_dtype(x.size());
  const Operand operands[] = {values.astype(dtype), x.astype(dtype)};
  Request request;
  request.operation = "searchsorted";
  request.rule = LayoutRule::blockwise;
  for (std::int64_t axis = 0; axis < values.ndim(); ++axis) request.attributes.axes.push_back(axis);
  request.operands = operands;
  request.shape = values.shape();
  request.dtype = result;
  request.salt = side == Side::right;
  request.kernel = [=](std::span<const LocalArray> in, const KernelContext&) {
    return detail::run_searchsorted(in[1], in[0], side == Side::right, result);
  };
  return detail::dispatch(request);
}

Array digitize(const Array& x, const Array& edges, bool right) {
  if (edges.ndim() != 1) throw ShapeError(fmt::format("digitize: argument edges is {}; edges have one axis", type_string(edges)));
  const auto n = edges.shape()[0];
  const auto side = right ? Side::left : Side::right;
  const auto up = searchsorted(edges, x, side);
  if (n < 2) return up;
  // Edges that descend are turned round, which turns the numbers of the intervals round.
  const auto down = n - searchsorted(flip(edges), x, side);
  return where(greater_equal(edges[-1], edges[0]), up, down.astype(up.dtype()));
}

}  // namespace meshwise

#include "meshwise/ops/sort.hpp"

#include <fmt/format.h>

#include <cstring>

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

namespace {

/// Of the first operand's values how many elements of the last, a vector in order, come before them (or are equal); with one between them that says whether it descends.
/// The vector comes in panels, over which the numbers add up.
Array count_before(const char* name, std::span<const Operand> operands, bool or_equal) {
  const auto &values = *operands.front().array(), &sorted = *operands.back().array();
  Request request;
  request.operation = name;
  request.rule = LayoutRule::blockwise;
  for (std::int64_t axis = 0; axis < values.ndim(); ++axis) request.attributes.axes.push_back(axis);
  request.operands = operands;
  request.shape = values.shape();
  request.dtype = detail::index_dtype(sorted.size());
  request.salt = or_equal;
  request.kernel = [=, dtype = request.dtype](std::span<const LocalArray> in, const KernelContext&) {
    LocalArray out(in.front().shape(), dtype);
    std::memset(out.data(), 0, static_cast<std::size_t>(out.nbytes()));
    detail::add_counts_before(in.back(), in.front(), or_equal, in.size() == 3 && in[1].view<bool>()[0], out);
    return out;
  };
  request.accumulate = [=](std::span<const LocalArray> in, LocalArray& counts) {
    detail::add_counts_before(in.back(), in.front(), or_equal, in.size() == 3 && in[1].view<bool>()[0], counts);
  };
  return detail::dispatch(request);
}

}  // namespace

Array searchsorted(const Array& x, const Array& values, Side side, const std::optional<Array>& sorter) {
  if (x.ndim() != 1) throw ShapeError(fmt::format("searchsorted: argument x is {}; what is searched has one axis", type_string(x)));
  if (sorter) return searchsorted(take(x, *sorter), values, side);
  const Operand operands[] = {values.astype(promote_types(x.dtype(), values.dtype())), x.astype(promote_types(x.dtype(), values.dtype()))};
  return count_before("searchsorted", operands, side == Side::right);
}

Array digitize(const Array& x, const Array& edges, bool right) {
  if (edges.ndim() != 1) throw ShapeError(fmt::format("digitize: argument edges is {}; edges have one axis", type_string(edges)));
  const auto n = edges.shape()[0];
  const auto dtype = promote_types(x.dtype(), edges.dtype());
  const auto turned = n < 2 ? asarray(false) : less(edges[-1], edges[0]);
  const Operand operands[] = {x.astype(dtype), turned, edges.astype(dtype)};
  return count_before("digitize", operands, !right);
}

}  // namespace meshwise

#include "meshwise/ops/manipulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "array/dispatch.hpp"
#include "ops/window.hpp"

namespace meshwise {

namespace {

detail::Request request_of(std::string_view operation, LayoutRule rule, const Operand& operand) {
  detail::Request request;
  request.operation = operation;
  request.rule = rule;
  request.operands = {&operand, 1};
  request.dtype = operand.array()->dtype();
  return request;
}

std::vector<std::int64_t> normalize_axes(std::vector<std::int64_t> axes, std::int64_t ndim, const char* operation) {
  for (auto& axis : axes) axis = normalize_axis(axis, ndim, operation);
  auto sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    throw IndexError(fmt::format("{}: axes ({}) name an axis twice", operation, fmt::join(axes, ", ")));
  return axes;
}

/// A window of each block in its result box's shape: for axes of length 1 that come or go.
LocalArray reread(std::span<const LocalArray> inputs, const detail::KernelContext& context) { return inputs[0].reshaped(context.result_box.shape()); }

}  // namespace

Array reshape(const Array& x, const Shape& shape, const std::optional<PartitionSpec>& out_sharding) {
  Shape full = shape;
  std::int64_t known = 1, open = -1;
  for (std::int64_t d = 0; d < full.ndim(); ++d) {
    if (full[d] == -1 && open < 0) open = d;
    else if (full[d] < 0) throw ShapeError(fmt::format("reshape: {} is no shape: one length may be -1, none else negative", to_string(shape)));
    else known *= full[d];
  }
  if (open >= 0) full[open] = known == 0 ? 0 : x.size() / known;
  if (full.num_elements() != x.size())
    throw ShapeError(fmt::format("reshape: argument x is {} with {} elements, shape {} has {}", type_string(x), x.size(), to_string(shape),
                                 open >= 0 ? fmt::format("multiples of {}", known) : std::to_string(known)));
  const Operand operand(x);
  auto request = request_of("reshape", LayoutRule::reshape, operand);
  request.shape = full;
  request.attributes.out_spec = out_sharding;
  return detail::dispatch_reshape(request);
}

Array transpose(const Array& x, const std::vector<std::int64_t>& permutation) {
  auto order = permutation;
  if (order.empty()) {
    order.resize(static_cast<std::size_t>(x.ndim()));
    std::iota(order.rbegin(), order.rend(), 0);
  }
  order = normalize_axes(order, x.ndim(), "transpose");
  if (static_cast<std::int64_t>(order.size()) != x.ndim())
    throw ShapeError(fmt::format("transpose: a permutation of {} axes for {}, which has {}", order.size(), type_string(x), x.ndim()));
  const Operand operand(x);
  auto request = request_of("transpose", LayoutRule::transpose, operand);
  request.attributes.axes = order;
  for (const auto axis : order) request.shape.push_back(x.shape()[axis]);
  request.kernel = [order](std::span<const LocalArray> in, const detail::KernelContext&) { return in[0].transposed(order); };
  request.as_recipe = [order](const detail::Recipe& r) { return r.transposed(order); };
  return detail::dispatch(request);
}

Array permute_dims(const Array& x, const std::vector<std::int64_t>& permutation) {
  if (static_cast<std::int64_t>(permutation.size()) != x.ndim())
    throw ShapeError(fmt::format("permute_dims: a permutation of {} axes for {}, which has {}", permutation.size(), type_string(x), x.ndim()));
  return transpose(x, permutation);
}

Array swapaxes(const Array& x, std::int64_t axis1, std::int64_t axis2) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.ndim()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(normalize_axis(axis1, x.ndim(), "swapaxes"))], order[static_cast<std::size_t>(normalize_axis(axis2, x.ndim(), "swapaxes"))]);
  return transpose(x, order);
}

Array matrix_transpose(const Array& x) {
  if (x.ndim() < 2) throw ShapeError(fmt::format("matrix_transpose: {} has fewer than two axes", type_string(x)));
  return swapaxes(x, -1, -2);
}

Array moveaxis(const Array& x, std::int64_t source, std::int64_t destination) {
  const auto from = normalize_axis(source, x.ndim(), "moveaxis"), to = normalize_axis(destination, x.ndim(), "moveaxis");
  std::vector<std::int64_t> order;
  for (std::int64_t d = 0; d < x.ndim(); ++d)
    if (d != from) order.push_back(d);
  order.insert(order.begin() + to, from);
  return transpose(x, order);
}

Array moveaxis(const Array& x, const std::vector<std::int64_t>& sources, const std::vector<std::int64_t>& destinations) {
  const auto from = normalize_axes(sources, x.ndim(), "moveaxis"), to = normalize_axes(destinations, x.ndim(), "moveaxis");
  if (from.size() != to.size()) throw ShapeError(fmt::format("moveaxis: {} sources and {} destinations", from.size(), to.size()));
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.ndim()), -1);
  for (std::size_t i = 0; i < from.size(); ++i) order[static_cast<std::size_t>(to[i])] = from[i];
  std::int64_t next = 0;
  for (auto& axis : order) {
    if (axis >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    axis = next++;
  }
  return transpose(x, order);
}

Array expand_dims(const Array& x, std::int64_t axis) {
  const auto at = normalize_axis(axis, x.ndim() + 1, "expand_dims");
  const Operand operand(x);
  auto request = request_of("expand_dims", LayoutRule::expand_dims, operand);
  request.attributes.axes = {at};
  request.shape = x.shape();
  request.shape.insert(at, 1);
  request.kernel = reread;
  request.as_recipe = [shape = request.shape](const detail::Recipe& r) { return r.reshaped(shape); };
  return detail::dispatch(request);
}

Array squeeze(const Array& x, const std::vector<std::int64_t>& axes) {
  auto gone = normalize_axes(axes, x.ndim(), "squeeze");
  if (axes.empty())
    for (std::int64_t d = 0; d < x.ndim(); ++d)
      if (x.shape()[d] == 1) gone.push_back(d);
  std::sort(gone.begin(), gone.end());
  const Operand operand(x);
  auto request = request_of("squeeze", LayoutRule::squeeze, operand);
  request.attributes.axes = gone;
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    const bool drop = std::binary_search(gone.begin(), gone.end(), d);
    if (drop && x.shape()[d] != 1) throw ShapeError(fmt::format("squeeze: axis {} of {} has length {}, not 1", d, type_string(x), x.shape()[d]));
    if (!drop) request.shape.push_back(x.shape()[d]);
  }
  request.kernel = reread;
  request.as_recipe = [shape = request.shape](const detail::Recipe& r) { return r.reshaped(shape); };
  return detail::dispatch(request);
}

Array broadcast_to(const Array& x, const Shape& shape, const std::optional<PartitionSpec>& out_sharding) {
  if (shape.ndim() < x.ndim() || !(broadcast_shapes(x.shape(), shape, "broadcast_to") == shape))
    throw ShapeError(fmt::format("broadcast_to: argument x is {}, which does not broadcast to {}", type_string(x), to_string(shape)));
  const Operand operand(x);
  auto request = request_of("broadcast_to", LayoutRule::broadcast_to, operand);
  request.shape = shape;
  request.attributes.out_spec = out_sharding;
  request.kernel = [from = x.shape(), shape](std::span<const LocalArray> in, const detail::KernelContext& context) {
    const auto to = context.result_box.shape();
    PerAxis<std::int64_t> strides(static_cast<std::size_t>(to.ndim()), 0);
    for (std::int64_t d = 0; d < in[0].ndim(); ++d)
      if (from[d] != 1 || shape[d + to.ndim() - in[0].ndim()] == 1) strides[static_cast<std::size_t>(d + to.ndim() - in[0].ndim())] = in[0].strides()[static_cast<std::size_t>(d)];
    return detail::window(in[0], to, std::move(strides));
  };
  request.as_recipe = [shape](const detail::Recipe& r) { return r.broadcast_to(shape); };
  return detail::dispatch(request);
}

std::vector<Array> broadcast_arrays(const std::vector<Array>& arrays) {
  Shape shape;
  for (const auto& x : arrays) shape = broadcast_shapes(shape, x.shape(), "broadcast_arrays");
  std::vector<Array> out;
  for (const auto& x : arrays) out.push_back(x.shape() == shape ? x : broadcast_to(x, shape));
  return out;
}

}  // namespace meshwise

// Operations that only move values: regions of operands become regions of the result.

#include <fmt/format.h>

#include <algorithm>

#include "array/dispatch.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/manipulate.hpp"

namespace meshwise {

namespace {

using detail::RegionMove;

/// The whole of an operand at `starts` of the result, axis by axis.
RegionMove whole_to(std::size_t operand, const Shape& shape, const std::vector<std::int64_t>& starts) {
  RegionMove move;
  move.operand = operand;
  move.extent = shape;
  for (std::int64_t d = 0; d < shape.ndim(); ++d) {
    move.source.push_back({d, 0, 1});
    move.target.push_back({d, starts[static_cast<std::size_t>(d)], 1});
  }
  return move;
}

std::string shapes_of(const std::vector<Array>& arrays) {
  std::string text;
  for (const auto& x : arrays) text += (text.empty() ? "" : ", ") + type_string(x);
  return text;
}

/// Operands in their common dtype.
std::vector<Operand> promoted(const std::vector<Array>& arrays, const char* operation) {
  if (arrays.empty()) throw ShapeError(fmt::format("{}: needs at least one array", operation));
  auto dtype = arrays.front().dtype();
  for (const auto& x : arrays) dtype = promote_types(dtype, x.dtype());
  std::vector<Operand> out;
  for (const auto& x : arrays) out.emplace_back(x.dtype() == dtype ? x : astype(x, dtype));
  return out;
}

detail::Request request_of(std::string_view operation, LayoutRule rule, const std::vector<Operand>& operands, const Shape& shape) {
  detail::Request request;
  request.operation = operation;
  request.rule = rule;
  request.operands = operands;
  request.shape = shape;
  request.dtype = operands.front().array()->dtype();
  return request;
}

}  // namespace

Array concatenate(const std::vector<Array>& arrays, std::int64_t axis) {
  if (arrays.empty()) throw ShapeError("concatenate: needs at least one array");
  const auto ndim = arrays.front().ndim();
  if (ndim == 0) throw ShapeError("concatenate: scalars have no axis to join along; use stack");
  const auto along = normalize_axis(axis, ndim, "concatenate");
  Shape shape = arrays.front().shape();
  shape[along] = 0;
  for (const auto& x : arrays) {
    Shape rest = x.shape();
    if (x.ndim() == ndim) rest[along] = shape[along];
    if (!(rest == shape)) throw ShapeError(fmt::format("concatenate: shapes differ beside axis {}: {}", along, shapes_of(arrays)));
    shape[along] += x.shape()[along];
  }
  const auto operands = promoted(arrays, "concatenate");
  auto request = request_of("concatenate", LayoutRule::concatenate, operands, shape);
  request.attributes.axes = {along};
  std::vector<RegionMove> moves;
  std::vector<std::int64_t> starts(static_cast<std::size_t>(ndim), 0);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    moves.push_back(whole_to(i, arrays[i].shape(), starts));
    starts[static_cast<std::size_t>(along)] += arrays[i].shape()[along];
  }
  return detail::dispatch_moves(request, moves);
}

Array concat(const std::vector<Array>& arrays, std::int64_t axis) { return concatenate(arrays, axis); }

Array stack(const std::vector<Array>& arrays, std::int64_t axis) {
  if (arrays.empty()) throw ShapeError("stack: needs at least one array");
  const auto& each = arrays.front().shape();
  for (const auto& x : arrays)
    if (!(x.shape() == each)) throw ShapeError(fmt::format("stack: shapes differ: {}", shapes_of(arrays)));
  const auto along = normalize_axis(axis, each.ndim() + 1, "stack");
  Shape shape = each;
  shape.insert(along, static_cast<std::int64_t>(arrays.size()));
  const auto operands = promoted(arrays, "stack");
  auto request = request_of("stack", LayoutRule::stack, operands, shape);
  request.attributes.axes = {along};
  std::vector<RegionMove> moves;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    RegionMove move;
    move.operand = i;
    move.extent = each;
    for (std::int64_t d = 0; d < each.ndim(); ++d) {
      move.source.push_back({d, 0, 1});
      move.target.push_back({d < along ? d : d + 1, 0, 1});
    }
    move.target_fixed.resize(static_cast<std::size_t>(shape.ndim()), 0);
    move.target_fixed[static_cast<std::size_t>(along)] = static_cast<std::int64_t>(i);
    moves.push_back(std::move(move));
  }
  return detail::dispatch_moves(request, moves);
}

std::vector<Array> unstack(const Array& x, std::int64_t axis) {
  const auto along = normalize_axis(axis, x.ndim(), "unstack");
  std::vector<Array> out;
  for (std::int64_t i = 0; i < x.shape()[along]; ++i) {
    std::vector<IndexExpression> items(static_cast<std::size_t>(along), IndexExpression(Slice()));
    items.emplace_back(i);
    out.push_back(getitem(x, items));
  }
  return out;
}

Array flip(const Array& x, const std::vector<std::int64_t>& axes) {
  const std::vector<Operand> operands{x};
  auto request = request_of("flip", LayoutRule::flip, operands, x.shape());
  std::vector<bool> reversed(static_cast<std::size_t>(x.ndim()), axes.empty());
  for (const auto axis : axes) reversed[static_cast<std::size_t>(normalize_axis(axis, x.ndim(), "flip"))] = true;
  auto move = whole_to(0, x.shape(), std::vector<std::int64_t>(static_cast<std::size_t>(x.ndim()), 0));
  for (std::int64_t d = 0; d < x.ndim(); ++d)
    if (reversed[static_cast<std::size_t>(d)]) {
      request.attributes.axes.push_back(d);
      move.source[static_cast<std::size_t>(d)] = {d, x.shape()[d] - 1, -1};
    }
  return detail::dispatch_moves(request, {&move, 1});
}

Array roll(const Array& x, std::int64_t shift) { return reshape(roll(reshape(x, {-1}), shift, 0), x.shape()); }

Array roll(const Array& x, const std::vector<std::int64_t>& shifts, const std::vector<std::int64_t>& axes) {
  if (shifts.size() != axes.size()) throw ShapeError(fmt::format("roll: {} shifts for {} axes", shifts.size(), axes.size()));
  auto out = x;
  for (std::size_t i = 0; i < axes.size(); ++i) out = roll(out, shifts[i], axes[i]);
  return out;
}

Array roll(const Array& x, std::int64_t shift, std::int64_t axis) {
  const auto along = normalize_axis(axis, x.ndim(), "roll");
  const std::vector<Operand> operands{x};
  auto request = request_of("roll", LayoutRule::worked_axis, operands, x.shape());
  request.attributes.axes = {along};
  request.salt = static_cast<std::uint64_t>(shift);
  const auto n = x.shape()[along];
  const auto by = n == 0 ? 0 : (shift % n + n) % n;
  std::vector<std::int64_t> starts(static_cast<std::size_t>(x.ndim()), 0);
  auto back = whole_to(0, x.shape(), starts);
  back.extent[along] = by;
  back.source[static_cast<std::size_t>(along)].start = n - by;
  starts[static_cast<std::size_t>(along)] = by;
  auto front = whole_to(0, x.shape(), starts);
  front.extent[along] = n - by;
  const std::vector<RegionMove> moves{std::move(back), std::move(front)};
  return detail::dispatch_moves(request, moves);
}

}  // namespace meshwise

#include <fmt/format.h>

#include "array/dispatch.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "plan/halo.hpp"

namespace meshwise {

namespace {

using Widths = std::vector<std::pair<std::int64_t, std::int64_t>>;

// x's shape with the widths around it, and what every pad asks for.
detail::Request request_of(const Array& x, std::span<const Operand> operands, const Widths& widths) {
  if (std::ssize(widths) != x.ndim())
    throw ShapeError(fmt::format("pad: {} pairs of widths for {}, which has {} axes", widths.size(), type_string(x), x.ndim()));
  detail::Request request;
  request.operation = "pad";
  request.rule = LayoutRule::pad;
  request.operands = operands;
  request.shape = x.shape();
  request.dtype = x.dtype();
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    const auto [before, after] = widths[static_cast<std::size_t>(d)];
    if (before < 0 || after < 0)
      throw ShapeError(fmt::format("pad: widths ({}, {}) of axis {} are negative; slice instead", before, after, d));
    request.shape[d] += before + after;
    if (before + after > 0) request.attributes.axes.push_back(d);
    request.salt = detail::mix(request.salt, static_cast<std::uint64_t>(before));
  }
  return request;
}

// The whole of x, but for axis d: `count` of its elements from `start` on, in steps of `step`, at `to`.
detail::RegionMove move_along(const Array& x, std::int64_t axis, std::int64_t to, std::int64_t start, std::int64_t step,
                              std::int64_t count) {
  detail::RegionMove move;
  move.extent = x.shape();
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    move.source.push_back({d, 0, 1});
    move.target.push_back({d, 0, 1});
  }
  move.extent[axis] = count;
  move.source[static_cast<std::size_t>(axis)] = {axis, start, step};
  move.target[static_cast<std::size_t>(axis)].start = to;
  return move;
}

Array pad_axis(const Array& x, std::int64_t axis, std::pair<std::int64_t, std::int64_t> width, PadMode mode) {
  const auto n = x.shape()[axis];
  if (n == 0) throw ShapeError(fmt::format("pad: axis {} of {} is empty: there is nothing to repeat", axis, type_string(x)));
  Widths widths(static_cast<std::size_t>(x.ndim()));
  widths[static_cast<std::size_t>(axis)] = width;
  const Operand operands[] = {x};
  auto request = request_of(x, operands, widths);
  request.salt = detail::mix(request.salt, static_cast<std::uint64_t>(mode) + 1);
  std::vector<detail::RegionMove> moves;
  for (const auto& run : detail::runs_of({-width.first, n + width.second}, n, mode))
    moves.push_back(move_along(x, axis, run.to, run.first, run.step, run.count));
  return detail::dispatch_moves(request, moves);
}

}  // namespace

Array pad(const Array& x, const Widths& widths, const Scalar& value) {
  const Operand operands[] = {x};
  const auto request = request_of(x, operands, widths);
  detail::RegionMove move;
  move.extent = x.shape();
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    move.source.push_back({d, 0, 1});
    move.target.push_back({d, widths[static_cast<std::size_t>(d)].first, 1});
  }
  return detail::dispatch_moves(request, {&move, 1}, value);
}

Array pad(const Array& x, const Widths& widths, PadMode mode) {
  const Operand operands[] = {x};
  request_of(x, operands, widths);  // all widths are looked at before anything moves
  auto out = x;
  for (std::int64_t axis = 0; axis < x.ndim(); ++axis)
    if (const auto& width = widths[static_cast<std::size_t>(axis)]; width.first + width.second > 0) out = pad_axis(out, axis, width, mode);
  return out;
}

}  // namespace meshwise

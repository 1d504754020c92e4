// Arrays cut into parts along an axis, and arrays that stand beside themselves.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "array/dispatch.hpp"
#include "meshwise/array/create.hpp"
#include "meshwise/array/device_put.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "ops/index_plan.hpp"
#include "ops/window.hpp"

namespace meshwise {

namespace {

std::vector<Array> cut_at(const Array& x, const std::vector<std::int64_t>& ends, std::int64_t axis) {
  std::vector<Array> out;
  std::int64_t start = 0;
  for (const auto end : ends) {
    std::vector<IndexExpression> items(static_cast<std::size_t>(axis), IndexExpression(Slice()));
    items.emplace_back(Slice(start, end));
    out.push_back(getitem(x, items));
    start = end;
  }
  return out;
}

}  // namespace

std::vector<Array> split(const Array& x, std::int64_t sections, std::int64_t axis) {
  const auto along = normalize_axis(axis, x.ndim(), "split");
  const auto n = x.shape()[along];
  if (sections < 1 || n % sections != 0)
    throw ShapeError(fmt::format("split: axis {} of {} does not divide into {} equal parts; array_split makes unequal ones", along,
                                 type_string(x), sections));
  return array_split(x, sections, along);
}

std::vector<Array> array_split(const Array& x, std::int64_t sections, std::int64_t axis) {
  const auto along = normalize_axis(axis, x.ndim(), "array_split");
  if (sections < 1) throw ShapeError(fmt::format("array_split: there is at least one part, not {}", sections));
  const auto n = x.shape()[along];
  std::vector<std::int64_t> ends;
  for (std::int64_t i = 1; i <= sections; ++i) ends.push_back(i * (n / sections) + std::min(i, n % sections));
  return cut_at(x, ends, along);
}

std::vector<Array> split(const Array& x, const std::vector<std::int64_t>& positions, std::int64_t axis) {
  const auto along = normalize_axis(axis, x.ndim(), "split");
  const auto n = x.shape()[along];
  // As slices: counted from the end where negative, no further than the end.
  std::vector<std::int64_t> ends;
  for (const auto position : positions) ends.push_back(std::clamp<std::int64_t>(position < 0 ? position + n : position, 0, n));
  ends.push_back(n);
  return cut_at(x, ends, along);
}

Array tile(const Array& x, const std::vector<std::int64_t>& counts) {
  for (const auto count : counts)
    if (count < 0) throw ShapeError(fmt::format("tile: counts ({}) are not negative", fmt::join(counts, ", ")));
  const auto ndim = std::max(x.ndim(), std::ssize(counts));
  const auto lead = ndim - x.ndim();
  std::vector<std::int64_t> times(static_cast<std::size_t>(ndim), 1);
  std::copy(counts.begin(), counts.end(), times.end() - std::ssize(counts));
  const Operand operands[] = {x};
  detail::Request request;
  request.operation = "tile";
  request.rule = LayoutRule::tile;
  request.operands = operands;
  request.dtype = x.dtype();
  for (std::int64_t d = 0; d < ndim; ++d) {
    const auto count = times[static_cast<std::size_t>(d)];
    request.shape.push_back((d < lead ? 1 : x.shape()[d - lead]) * count);
    if (count != 1) request.attributes.axes.push_back(d);
    request.salt = detail::mix(request.salt, static_cast<std::uint64_t>(count));
  }
  // Few copies are brought each to its place; for many the block is brought once and copied there.
  constexpr std::int64_t few = 16;
  const auto copies = Shape(times).num_elements();
  if (copies > 0 && copies <= few && x.committed()) {
    std::vector<detail::RegionMove> moves;
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      detail::RegionMove move;
      move.extent = x.shape();
      auto rest = copy;
      for (auto d = ndim; d-- > 0;) {
        const auto number = rest % times[static_cast<std::size_t>(d)];
        rest /= times[static_cast<std::size_t>(d)];
        move.target_fixed.insert(move.target_fixed.begin(), d < lead ? number : 0);
        if (d < lead) continue;
        move.source.insert(move.source.begin(), {d - lead, 0, 1});
        move.target.insert(move.target.begin(), {d, number * x.shape()[d - lead], 1});
      }
      moves.push_back(std::move(move));
    }
    return detail::dispatch_moves(request, moves);
  }
  request.kernel = [ndim, lead, times](std::span<const LocalArray> in, const detail::KernelContext& context) {
    LocalArray out(context.result_box.shape(), in[0].dtype());
    if (out.size() == 0) return out;
    // Both sides with an axis for the copies before each axis: the block stands still there.
    Shape shape;
    PerAxis<std::int64_t> strides;
    for (std::int64_t d = 0; d < ndim; ++d) {
      shape.push_back(times[static_cast<std::size_t>(d)]);
      strides.push_back(0);
      shape.push_back(d < lead ? 1 : in[0].shape()[d - lead]);
      strides.push_back(d < lead ? 0 : in[0].strides()[static_cast<std::size_t>(d - lead)]);
    }
    copy_values(detail::window(in[0], shape, std::move(strides)), out.reshaped(shape));
    return out;
  };
  return detail::dispatch(request);
}

Array repeat(const Array& x, std::int64_t count, std::optional<std::int64_t> axis) {
  if (!axis) return repeat(reshape(x, {-1}), count, 0);
  const auto along = normalize_axis(*axis, x.ndim(), "repeat");
  if (count < 0) throw ShapeError(fmt::format("repeat: the count {} is not negative", count));
  auto shape = x.shape();
  shape.insert(along + 1, count);
  const auto copies = broadcast_to(expand_dims(x, along + 1), shape);
  auto joined = x.shape();
  joined[along] *= count;
  return reshape(copies, joined);
}

Array repeat(const Array& x, const std::vector<std::int64_t>& counts, std::optional<std::int64_t> axis) {
  if (!axis) return repeat(reshape(x, {-1}), counts, 0);
  const auto along = normalize_axis(*axis, x.ndim(), "repeat");
  if (counts.size() == 1) return repeat(x, counts[0], along);
  if (std::ssize(counts) != x.shape()[along] || std::any_of(counts.begin(), counts.end(), [](auto count) { return count < 0; }))
    throw ShapeError(fmt::format("repeat: counts ({}) are not one, not negative, for each of the {} elements along axis {} of {}",
                                 fmt::join(counts, ", "), x.shape()[along], along, type_string(x)));
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < counts.size(); ++i)
    indices.insert(indices.end(), static_cast<std::size_t>(counts[i]), static_cast<std::int64_t>(i));
  return take(x, asarray(indices), along);
}

Array repeat(const Array& x, const Array& counts, std::optional<std::int64_t> axis) {
  if (!is_integer(counts.dtype())) throw DtypeError(fmt::format("repeat: argument counts is {}; counts are integers", type_string(counts)));
  if (counts.ndim() > 1) throw ShapeError(fmt::format("repeat: argument counts is {}; it has one axis", type_string(counts)));
  const auto values = device_get(detail::wide_indices(counts));
  const auto view = values.view<std::int64_t>();
  return repeat(x, std::vector<std::int64_t>(view.begin(), view.end()), axis);
}

}  // namespace meshwise

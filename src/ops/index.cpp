#include "meshwise/ops/index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "array/dispatch.hpp"
#include "array/lockstep.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "ops/index_plan.hpp"

namespace meshwise {

namespace {

using detail::cut_of;

/// Collects what the items say of one axis after the other.
class Region {
 public:
  Region(const Array& x, detail::Request& request, detail::RegionMove& move) : x_(x), request_(request), move_(move) {
    move.source_fixed.resize(static_cast<std::size_t>(x.ndim()), 0);
  }

  void add_new_axis() {
    IndexItem seen;
    seen.kind = IndexItem::Kind::new_axis;
    request_.shape.push_back(1);
    request_.attributes.items.push_back(seen);
  }

  void add(std::int64_t index) {
    IndexItem seen;
    seen.kind = IndexItem::Kind::integer;
    seen.start = detail::index_in_range(index, x_, axis_);
    seen.whole = false;
    move_.source_fixed[static_cast<std::size_t>(axis_++)] = seen.start;
    request_.attributes.items.push_back(seen);
  }

  void add(const Slice& slice) {
    const auto n = x_.shape()[axis_];
    const auto cut = cut_of(slice, n, axis_);
    IndexItem seen;
    seen.start = cut.start;
    seen.step = cut.step;
    seen.stop = cut.start + cut.step * cut.count;
    seen.whole = cut.count == n && (cut.step == 1 || cut.step == -1);
    move_.source.push_back({axis_++, cut.start, cut.step});
    move_.target.push_back({request_.shape.ndim(), 0, 1});
    move_.extent.push_back(cut.count);
    request_.shape.push_back(cut.count);
    request_.attributes.items.push_back(seen);
  }

  void add_whole_axes(std::int64_t count) {
    for (; count > 0; --count) add(Slice());
  }

 private:
  const Array& x_;
  detail::Request& request_;
  detail::RegionMove& move_;
  std::int64_t axis_ = 0;
};

/// MESHWISE_CHECK=lockstep: a rank that asks for a piece of its own would be handed a mixture of everybody's.
void compare_items(const Array& x, std::span<const IndexItem> items, std::string_view operation) {
  std::uint64_t hash = 0;
  for (const auto& item : items) hash = detail::mix(detail::mix(hash, item.start), detail::mix(item.stop, item.step));
  const auto words = [&] {
    std::string text;
    for (const auto& item : items) {
      text += text.empty() ? "" : ", ";
      if (item.kind == IndexItem::Kind::new_axis) text += "None";
      else if (item.kind == IndexItem::Kind::integer) text += fmt::format("{}", item.start);
      else text += item.step == 1 ? fmt::format("{}:{}", item.start, item.stop) : fmt::format("{}:{}:{}", item.start, item.stop, item.step);
    }
    return fmt::format("takes [{}] of {}", text, type_string(x));
  };
  detail::compare_arguments(operation, hash, words, "Every rank asks for the same piece of the global array; what a rank has itself are its addressable_shards().");
}

Array get_rows(const Array& x, std::span<const IndexExpression> items);
bool has_arrays(std::span<const IndexExpression> items);

Array get(const Array& x, std::span<const IndexExpression> items, LayoutRule rule, std::string_view operation) {
  if (has_arrays(items)) return get_rows(x, items);
  const Operand operand(x);
  detail::Request request;
  request.operation = operation;
  request.rule = rule;
  request.operands = {&operand, 1};
  request.dtype = x.dtype();
  request.attributes.items.reserve(static_cast<std::size_t>(x.ndim()) + items.size());
  detail::RegionMove move;
  Region region(x, request, move);
  auto unnamed = detail::unnamed_axes(items, x);
  for (const auto& item : items) {
    if (const auto* slice = std::get_if<Slice>(&item.value())) region.add(*slice);
    else if (const auto* index = std::get_if<std::int64_t>(&item.value())) region.add(*index);
    else if (std::holds_alternative<Ellipsis>(item.value())) region.add_whole_axes(std::exchange(unnamed, 0));
    else region.add_new_axis();
  }
  region.add_whole_axes(unnamed);
  if (detail::in_lockstep()) compare_items(x, request.attributes.items, operation);
  return detail::dispatch_moves(request, {&move, 1});
}

/// Indices counted from the front and clipped, in int64.
Array clipped(const Array& indices, std::int64_t n) {
  const auto wide = detail::wide_indices(indices);
  return clip(where(less(wide, 0), add(wide, n), wide), 0, n - 1);
}

/// x[...] with arrays of indices: what is basic first, then rows of the axes that arrays name, side by side, and these rows' axes to their place.
Array get_rows(const Array& x, std::span<const IndexExpression> items) {
  const auto plan = detail::plan_index(x, items);
  std::vector<IndexExpression> basic;
  std::vector<std::int64_t> order, rest;  // axes that arrays name, and the others, after the basic part
  auto range = plan.ranges.begin();
  for (std::int64_t axis = 0, at = 0; axis < x.ndim() || range != plan.ranges.end();) {
    for (; range != plan.ranges.end() && *range < 0; ++range) {
      basic.emplace_back(none);
      rest.push_back(at++);
    }
    if (axis == x.ndim()) break;
    const auto& of_axis = plan.axes[static_cast<std::size_t>(axis++)];
    switch (of_axis.kind) {
      case detail::IndexedAxis::Kind::fixed:
        basic.emplace_back(of_axis.start);
        break;
      case detail::IndexedAxis::Kind::array:
        basic.emplace_back(Slice());
        order.push_back(at++);
        break;
      case detail::IndexedAxis::Kind::range: {
        const auto stop = of_axis.start + of_axis.step * of_axis.count;
        basic.emplace_back(Slice(of_axis.start, stop < 0 ? SliceBound(none) : SliceBound(stop), of_axis.step));
        rest.push_back(at++);
        ++range;
        break;
      }
    }
  }
  auto rows = getitem(x, basic);
  if (order.size() == 1 && plan.place == order[0]) return take(rows, plan.arrays[0], order[0], IndexMode::clip);
  // Several axes become one, and their indices numbers in it.
  Shape flat{1};
  Array numbers;
  std::int64_t after = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    const auto n = rows.shape()[order[k]];
    const auto here = multiply(clipped(plan.arrays[k], n), after);
    numbers = numbers.is_set() ? add(numbers, here) : here;
    after *= n;
  }
  flat[0] = after;
  for (const auto axis : rest) flat.push_back(rows.shape()[axis]);
  order.insert(order.end(), rest.begin(), rest.end());
  rows = take(reshape(transpose(rows, order), flat), numbers, 0, IndexMode::clip);
  if (plan.place == 0) return rows;
  std::vector<std::int64_t> back(static_cast<std::size_t>(rows.ndim()));
  const auto count = plan.indices.ndim();
  for (std::int64_t d = 0; d < rows.ndim(); ++d)
    back[static_cast<std::size_t>(d)] = d < plan.place ? count + d : d < plan.place + count ? d - plan.place : d;
  return transpose(rows, back);
}

bool has_arrays(std::span<const IndexExpression> items) {
  return std::any_of(items.begin(), items.end(), [](const auto& item) { return std::holds_alternative<Array>(item.value()); });
}

template <class T>
T filler() {
  if constexpr (std::same_as<T, bool>) return true;
  else if constexpr (std::unsigned_integral<T>) return std::numeric_limits<T>::max();
  else if constexpr (std::signed_integral<T>) return std::numeric_limits<T>::min();
  else if constexpr (std::same_as<T, float16_t> || std::same_as<T, bfloat16_t>) return T(std::numeric_limits<float>::quiet_NaN());
  else if constexpr (std::floating_point<T>) return std::numeric_limits<T>::quiet_NaN();
  else return T(std::numeric_limits<typename T::value_type>::quiet_NaN(), std::numeric_limits<typename T::value_type>::quiet_NaN());
}

std::vector<std::int64_t> positions_of(const LocalArray& indices, std::int64_t n, IndexMode mode) {
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(indices.size()));
  visit(indices.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::integral<T>)
      for (const T i : indices.view<T>()) {
        const bool huge = std::unsigned_integral<T> && static_cast<std::uint64_t>(i) > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        out.push_back(detail::resolved_index(huge ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(i), n, mode));
      }
  });
  return out;
}

LocalArray gather_along(const LocalArray& values, const LocalArray& indices, std::int64_t axis, IndexMode mode, const Shape& shape) {
  LocalArray out(shape, values.dtype());
  if (out.size() == 0) return out;
  const auto at = positions_of(indices, values.shape()[axis], mode);
  // Both are read under the result's shape: where they have one element for many, again and again.
  const auto strides_in = [&](const LocalArray& x) {
    PerAxis<std::int64_t> strides;
    for (std::int64_t d = 0; d < shape.ndim(); ++d) strides.push_back(x.shape()[d] == 1 && d != axis ? 0 : x.strides()[static_cast<std::size_t>(d)]);
    return strides;
  };
  auto of_values = strides_in(values);
  const auto along = std::exchange(of_values[static_cast<std::size_t>(axis)], 0);
  PerAxis<std::int64_t> of_indices(static_cast<std::size_t>(shape.ndim()), 0);  // `at` is dense
  for (std::int64_t d = shape.ndim(), step = 1; d-- > 0; step *= indices.shape()[d])
    of_indices[static_cast<std::size_t>(d)] = indices.shape()[d] == 1 ? 0 : step;
  visit(values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* from = reinterpret_cast<const T*>(values.data());
    auto* to = reinterpret_cast<T*>(out.data());
    std::vector<std::int64_t> index(static_cast<std::size_t>(shape.ndim()), 0);
    for (std::int64_t k = 0; k < out.size(); ++k) {
      std::int64_t place = 0, number = 0;
      for (std::size_t d = 0; d < index.size(); ++d) {
        place += index[d] * of_values[d];
        number += index[d] * of_indices[d];
      }
      const auto i = at[static_cast<std::size_t>(number)];
      to[k] = i < 0 ? filler<T>() : from[place + i * along];
      for (auto d = shape.ndim(); d-- > 0;) {
        if (++index[static_cast<std::size_t>(d)] < shape[d]) break;
        index[static_cast<std::size_t>(d)] = 0;
      }
    }
  });
  return out;
}

LocalArray gather(const LocalArray& values, const LocalArray& indices, std::int64_t axis, IndexMode mode, const Shape& shape) {
  const auto x = values.contiguous();
  LocalArray out(shape, x.dtype());
  if (out.size() == 0) return out;
  std::int64_t outer = 1, inner = static_cast<std::int64_t>(itemsize(x.dtype()));
  for (std::int64_t d = 0; d < axis; ++d) outer *= x.shape()[d];
  for (std::int64_t d = axis + 1; d < x.ndim(); ++d) inner *= x.shape()[d];
  const auto n = x.shape()[axis];
  const auto at = positions_of(indices, n, mode);
  LocalArray blank(Shape{inner / static_cast<std::int64_t>(itemsize(x.dtype()))}, x.dtype());
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(reinterpret_cast<T*>(blank.data()), blank.size(), filler<T>());
  });
  auto* to = out.data();
  for (std::int64_t o = 0; o < outer; ++o)
    for (const auto i : at) {
      std::memcpy(to, i < 0 ? blank.data() : x.data() + (o * n + i) * inner, static_cast<std::size_t>(inner));
      to += inner;
    }
  return out;
}

void check_indices(std::string_view operation, const Array& x, const Array& indices, std::int64_t axis, IndexMode mode) {
  if (!is_integer(indices.dtype()))
    throw DtypeError(fmt::format("{}: argument indices is {}; indices are integers", operation, type_string(indices)));
  if (x.shape()[axis] == 0 && indices.size() > 0 && mode != IndexMode::fill)
    throw IndexError(fmt::format("{}: axis {} of {} is empty, {} indices point into it", operation, axis, type_string(x), indices.size()));
}

}  // namespace

Array getitem(const Array& x, const std::vector<IndexExpression>& items) { return get(x, items, LayoutRule::getitem, "getitem"); }

Array slice(const Array& x, const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& limits, const std::vector<std::int64_t>& strides) {
  const auto ndim = static_cast<std::size_t>(x.ndim());
  if (starts.size() != ndim || limits.size() != ndim || (!strides.empty() && strides.size() != ndim))
    throw IndexError(fmt::format("slice: {} starts, {} limits and {} strides for {}, which has {} axes", starts.size(), limits.size(), strides.size(), type_string(x), ndim));
  std::vector<IndexExpression> items;
  for (std::size_t d = 0; d < ndim; ++d) {
    const auto n = x.shape()[static_cast<std::int64_t>(d)], step = strides.empty() ? 1 : strides[d];
    if (starts[d] < 0 || limits[d] < starts[d] || limits[d] > n || step < 1)
      throw IndexError(fmt::format("slice: [{}:{}:{}] is out of range for axis {} of {}, which has length {}", starts[d], limits[d], step, d, type_string(x), n));
    items.emplace_back(Slice(starts[d], limits[d], step));
  }
  return get(x, items, LayoutRule::slice, "slice");
}

Array take(const Array& x, const Array& indices, std::int64_t axis, IndexMode mode) {
  const auto along = normalize_axis(axis, x.ndim(), "take");
  check_indices("take", x, indices, along, mode);
  Shape shape;
  for (std::int64_t d = 0; d < along; ++d) shape.push_back(x.shape()[d]);
  for (const auto length : indices.shape()) shape.push_back(length);
  for (std::int64_t d = along + 1; d < x.ndim(); ++d) shape.push_back(x.shape()[d]);
  const std::vector<Operand> operands{x, indices};
  detail::Request request;
  request.operation = "take";
  request.rule = LayoutRule::take;
  request.operands = operands;
  request.shape = shape;
  request.dtype = x.dtype();
  request.attributes.axes = {along};
  request.salt = static_cast<std::uint64_t>(mode);
  request.kernel = [&](std::span<const LocalArray> in, const detail::KernelContext& context) { return gather(in[0], in[1], along, mode, context.result_box.shape()); };
  return detail::dispatch(request);
}

Array take_along_axis(const Array& x, const Array& indices, std::int64_t axis, IndexMode mode) {
  const auto along = normalize_axis(axis, x.ndim(), "take_along_axis");
  check_indices("take_along_axis", x, indices, along, mode);
  if (indices.ndim() != x.ndim())
    throw ShapeError(fmt::format("take_along_axis: argument indices is {}, and x is {}: both have the same axes", type_string(indices), type_string(x)));
  auto beside = x.shape(), of_indices = indices.shape();
  beside[along] = of_indices[along] = 1;
  auto shape = broadcast_shapes(beside, of_indices, "take_along_axis");
  shape[along] = indices.shape()[along];
  const Operand operands[] = {x, indices};
  detail::Request request;
  request.operation = "take_along_axis";
  request.rule = LayoutRule::take_along_axis;
  request.operands = operands;
  request.shape = shape;
  request.dtype = x.dtype();
  request.attributes.axes = {along};
  request.salt = static_cast<std::uint64_t>(mode);
  request.kernel = [&](std::span<const LocalArray> in, const detail::KernelContext& context) {
    return gather_along(in[0], in[1], along, mode, context.result_box.shape());
  };
  return detail::dispatch(request);
}

Array Array::reshape(const Shape& shape) const { return meshwise::reshape(*this, shape); }
Array Array::transpose(const std::vector<std::int64_t>& permutation) const { return meshwise::transpose(*this, permutation); }
Array Array::operator[](std::int64_t index) const { return (*this)[IndexExpression(index)]; }
Array Array::operator[](const IndexExpression& item) const { return get(*this, {&item, 1}, LayoutRule::getitem, "getitem"); }
Array Array::operator[](std::initializer_list<IndexExpression> items) const { return get(*this, items, LayoutRule::getitem, "getitem"); }
Array Array::operator[](const Array& indices) const {
  if (indices.dtype() == bool_) return (*this)[IndexExpression(indices)];
  return take(*this, indices, 0, IndexMode::clip);
}

}  // namespace meshwise

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
#include "meshwise/ops/manipulate.hpp"

namespace meshwise {

namespace {

/// Python's rule for a slice of an axis of length n: start and step, and how many.
struct Cut {
  std::int64_t start, step, count;
};

Cut cut_of(const Slice& s, std::int64_t n, std::int64_t axis) {
  const auto step = s.step.value_or(1);
  if (step == 0) throw IndexError(fmt::format("x[...]: the slice of axis {} has step 0", axis));
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto bound = [&](std::optional<std::int64_t> at, std::int64_t absent) {
    if (!at) return absent;
    return std::clamp(*at < 0 ? *at + n : *at, low, high);
  };
  const auto start = bound(s.start, step > 0 ? 0 : n - 1), stop = bound(s.stop, step > 0 ? n : -1);
  const auto count = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
  return {start, step, std::max<std::int64_t>(count, 0)};
}

/// Throws: IndexError for more items than x has axes, or two ellipses. How many axes no item names.
std::int64_t unnamed_axes(std::span<const IndexExpression> items, const Array& x) {
  std::int64_t named = 0, ellipses = 0;
  for (const auto& item : items) {
    if (std::holds_alternative<Ellipsis>(item.value())) ++ellipses;
    else if (!std::holds_alternative<std::nullptr_t>(item.value())) ++named;
  }
  if (named > x.ndim()) throw IndexError(fmt::format("x[...]: {} indices for {}, which has {} axes", named, type_string(x), x.ndim()));
  if (ellipses > 1) throw IndexError("x[...]: more than one ellipsis");
  return x.ndim() - named;
}

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
    const auto n = x_.shape()[axis_];
    if (index < -n || index >= n)
      throw IndexError(fmt::format("x[...]: index {} is out of range for axis {} of {}, which has length {}", index, axis_, type_string(x_), n));
    IndexItem seen;
    seen.kind = IndexItem::Kind::integer;
    seen.start = index < 0 ? index + n : index;
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

Array get(const Array& x, std::span<const IndexExpression> items, LayoutRule rule, std::string_view operation) {
  const Operand operand(x);
  detail::Request request;
  request.operation = operation;
  request.rule = rule;
  request.operands = {&operand, 1};
  request.dtype = x.dtype();
  request.attributes.items.reserve(static_cast<std::size_t>(x.ndim()) + items.size());
  detail::RegionMove move;
  Region region(x, request, move);
  auto unnamed = unnamed_axes(items, x);
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

template <class T>
T filler() {
  if constexpr (std::same_as<T, bool>) return true;
  else if constexpr (std::unsigned_integral<T>) return std::numeric_limits<T>::max();
  else if constexpr (std::signed_integral<T>) return std::numeric_limits<T>::min();
  else if constexpr (std::same_as<T, float16_t> || std::same_as<T, bfloat16_t>) return T(std::numeric_limits<float>::quiet_NaN());
  else if constexpr (std::floating_point<T>) return std::numeric_limits<T>::quiet_NaN();
  else return T(std::numeric_limits<typename T::value_type>::quiet_NaN(), std::numeric_limits<typename T::value_type>::quiet_NaN());
}

/// Where an index points, -1 for "fill".
std::int64_t resolve(std::int64_t index, std::int64_t n, IndexMode mode) {
  if (mode == IndexMode::wrap) return (index % n + n) % n;
  if (index < 0) index += n;
  if (index >= 0 && index < n) return index;
  return mode == IndexMode::clip ? std::clamp<std::int64_t>(index, 0, n - 1) : -1;
}

std::vector<std::int64_t> positions_of(const LocalArray& indices, std::int64_t n, IndexMode mode) {
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(indices.size()));
  visit(indices.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::integral<T>)
      for (const T i : indices.view<T>()) {
        const bool huge = std::unsigned_integral<T> && static_cast<std::uint64_t>(i) > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        out.push_back(resolve(huge ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(i), n, mode));
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
  if (!is_integer(indices.dtype()))
    throw DtypeError(fmt::format("take: argument indices is {}; indices are integers", type_string(indices)));
  const auto n = x.shape()[along];
  if (n == 0 && indices.size() > 0 && mode != IndexMode::fill)
    throw IndexError(fmt::format("take: axis {} of {} is empty, {} indices point into it", along, type_string(x), indices.size()));
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

Array Array::reshape(const Shape& shape) const { return meshwise::reshape(*this, shape); }
Array Array::transpose(const std::vector<std::int64_t>& permutation) const { return meshwise::transpose(*this, permutation); }
Array Array::operator[](std::int64_t index) const { return (*this)[IndexExpression(index)]; }
Array Array::operator[](const IndexExpression& item) const { return get(*this, {&item, 1}, LayoutRule::getitem, "getitem"); }
Array Array::operator[](std::initializer_list<IndexExpression> items) const { return get(*this, items, LayoutRule::getitem, "getitem"); }
Array Array::operator[](const Array& indices) const { return take(*this, indices, 0, IndexMode::clip); }

}  // namespace meshwise

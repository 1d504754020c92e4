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
#include "meshwise/array/device_put.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "ops/index_plan.hpp"
#include "ops/take.hpp"

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

using Spec = std::optional<PartitionSpec>;

Array get_rows(const Array& x, std::span<const IndexExpression> items, IndexMode mode, LayoutRule rule, const Spec& out_sharding);
bool has_arrays(std::span<const IndexExpression> items);

Array get(const Array& x, std::span<const IndexExpression> items, LayoutRule rule, std::string_view operation, const Spec& out_sharding = {}) {
  if (has_arrays(items)) return get_rows(x, items, IndexMode::clip, LayoutRule::take, out_sharding);
  const Operand operand(x);
  detail::Request request;
  request.operation = operation;
  request.rule = rule;
  request.operands = {&operand, 1};
  request.dtype = x.dtype();
  request.attributes.out_spec = out_sharding;
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

/// Several axes as one: the numbers in it that arrays of indices along each name. Where one points nowhere, a number beyond the end.
Array numbers_of(const std::vector<Array>& arrays, const std::vector<std::int64_t>& lengths, IndexMode mode) {
  Array numbers, valid;
  std::int64_t after = 1;
  for (auto k = arrays.size(); k-- > 0;) {
    const auto n = lengths[k];
    const auto wide = detail::wide_indices(arrays[k]);
    const auto front = mode == IndexMode::wrap ? remainder(wide, n) : where(less(wide, 0), add(wide, n), wide);
    const auto here = multiply(mode == IndexMode::clip ? clip(front, 0, n - 1) : front, after);
    numbers = numbers.is_set() ? add(numbers, here) : here;
    after *= n;
    if (mode != IndexMode::fill) continue;
    const auto is_there = logical_and(greater_equal(front, 0), less(front, n));
    valid = valid.is_set() ? logical_and(valid, is_there) : is_there;
  }
  return mode == IndexMode::fill ? where(valid, numbers, after) : numbers;
}

/// x with the axes whole that the items cut, so that the result's spec is all that remains to be said.
Array with_cut_axes_whole(const Array& x, std::span<const IndexItem> items) {
  if (!x.committed() || !x.sharding().mesh().is_explicit()) return x;
  auto entries = x.sharding().spec().padded(x.ndim()).entries();
  std::size_t axis = 0;
  for (const auto& item : items) {
    if (item.kind == IndexItem::Kind::new_axis) continue;
    if (item.kind != IndexItem::Kind::range || !item.whole) entries[axis] = SpecEntry();
    ++axis;
  }
  return reshard(x, PartitionSpec(entries));
}

/// x[...] with arrays of indices: what is basic first, then rows of the axes that arrays name, side by side, and these rows' axes to their place.
Array get_rows(const Array& given, std::span<const IndexExpression> items, IndexMode mode, LayoutRule rule, const Spec& out_sharding) {
  const auto plan = detail::plan_index(given, items);
  if (out_sharding && out_sharding->size() > plan.shape.ndim())
    throw PlacementError(fmt::format("x[...]: out_sharding {} has {} entries, but the result has shape {}, {} axes", to_string(*out_sharding), out_sharding->size(),
                                     to_string(plan.shape), plan.shape.ndim()));
  std::vector<IndexExpression> basic;
  std::vector<std::int64_t> order, rest;  // axes that arrays name, and the others, after the basic part
  bool one_axis = plan.arrays.size() == 1;
  auto range = plan.ranges.begin();
  for (std::int64_t axis = 0, at = 0; axis < given.ndim() || range != plan.ranges.end();) {
    for (; range != plan.ranges.end() && *range < 0; ++range) {
      basic.emplace_back(none);
      rest.push_back(at++);
      one_axis = false;
    }
    if (axis == given.ndim()) break;
    const auto& of_axis = plan.axes[static_cast<std::size_t>(axis++)];
    switch (of_axis.kind) {
      case detail::IndexedAxis::Kind::fixed:
        basic.emplace_back(of_axis.start);
        one_axis = false;
        break;
      case detail::IndexedAxis::Kind::array:
        basic.emplace_back(Slice());
        order.push_back(at++);
        break;
      case detail::IndexedAxis::Kind::range: {
        const auto stop = of_axis.start + of_axis.step * of_axis.count;
        basic.emplace_back(Slice(of_axis.start, stop < 0 ? SliceBound(none) : SliceBound(stop), of_axis.step));
        one_axis = one_axis && of_axis.step == 1 && of_axis.count == given.shape()[axis - 1];
        rest.push_back(at++);
        ++range;
        break;
      }
    }
  }
  // One axis by one array is what the rules of gathers are about.
  if (one_axis) return detail::take_rows(given, plan.arrays[0], order[0], mode, order[0] == 0 ? rule : LayoutRule::take, out_sharding);
  const auto finished = [&](const Array& rows) { return out_sharding && rows.committed() ? reshard(rows, *out_sharding) : rows; };
  auto rows = getitem(out_sharding ? with_cut_axes_whole(given, plan.items) : given, basic);
  if (order.size() == 1 && plan.place == order[0]) return finished(take(rows, plan.arrays[0], order[0], mode));
  Shape flat{1};
  std::vector<std::int64_t> lengths;
  for (const auto axis : order) lengths.push_back(rows.shape()[axis]);
  for (const auto length : lengths) flat[0] *= length;
  const auto numbers = numbers_of(plan.arrays, lengths, mode);
  for (const auto axis : rest) flat.push_back(rows.shape()[axis]);
  order.insert(order.end(), rest.begin(), rest.end());
  rows = take(reshape(transpose(rows, order), flat), numbers, 0, mode);
  if (plan.place == 0) return finished(rows);
  std::vector<std::int64_t> back(static_cast<std::size_t>(rows.ndim()));
  const auto count = plan.indices.ndim();
  for (std::int64_t d = 0; d < rows.ndim(); ++d)
    back[static_cast<std::size_t>(d)] = d < plan.place ? count + d : d < plan.place + count ? d - plan.place : d;
  return finished(transpose(rows, back));
}

bool has_arrays(std::span<const IndexExpression> items) {
  return std::any_of(items.begin(), items.end(), [](const auto& item) { return std::holds_alternative<Array>(item.value()); });
}

}  // namespace

Array getitem(const Array& x, const std::vector<IndexExpression>& items, const Spec& out_sharding) {
  return get(x, items, out_sharding ? LayoutRule::at_get : LayoutRule::getitem, "getitem", out_sharding);
}

Array Update::get(const Spec& out_sharding) const {
  if (has_arrays(items_)) return get_rows(x_, items_, mode_, LayoutRule::gather_get, out_sharding);
  return meshwise::get(x_, items_, LayoutRule::at_get, "at.get", out_sharding);
}

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

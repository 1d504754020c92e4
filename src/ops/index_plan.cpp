#include "ops/index_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "meshwise/base/error.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/index.hpp"

namespace meshwise::detail {

namespace {

std::int64_t axes_named(const IndexExpression& item) {
  if (std::holds_alternative<std::nullptr_t>(item.value()) || std::holds_alternative<Ellipsis>(item.value())) return 0;
  const auto* array = std::get_if<Array>(&item.value());
  return array != nullptr && array->dtype() == bool_ ? array->ndim() : 1;
}

// Masks become the indices of what is true in them.
std::vector<IndexExpression> without_masks(const Array& x, std::span<const IndexExpression> items) {
  std::vector<IndexExpression> out;
  std::int64_t axis = 0;
  const auto unnamed = unnamed_axes(items, x);
  for (const auto& item : items) {
    const auto* mask = std::get_if<Array>(&item.value());
    if (mask == nullptr || mask->dtype() != bool_) {
      out.push_back(item);
      axis += std::holds_alternative<Ellipsis>(item.value()) ? unnamed : axes_named(item);
      continue;
    }
    for (std::int64_t d = 0; d < mask->ndim(); ++d, ++axis)
      if (mask->shape()[d] != x.shape()[axis])
        throw IndexError(fmt::format("x[...]: the mask {} does not fit {}: axis {} has length {}", type_string(*mask), type_string(x), axis,
                                     x.shape()[axis]));
    for (auto& indices : nonzero(*mask)) out.emplace_back(std::move(indices));
  }
  return out;
}

class Planner {
 public:
  explicit Planner(const Array& x) : x_(x) {}

  void add(std::span<const IndexExpression> items) {
    auto unnamed = unnamed_axes(items, x_);
    const bool has_arrays = std::any_of(items.begin(), items.end(), [](const auto& i) { return std::holds_alternative<Array>(i.value()); });
    for (const auto& item : items) {
      const auto* index = std::get_if<std::int64_t>(&item.value());
      const auto* array = std::get_if<Array>(&item.value());
      // Beside arrays an integer is one of them.
      if (has_arrays && (index != nullptr || array != nullptr))
        begin_indices();
      else if (in_run_)
        in_run_ = false;
      if (index != nullptr)
        add(*index);
      else if (array != nullptr)
        add(*array);
      else if (const auto* slice = std::get_if<Slice>(&item.value()))
        add(*slice);
      else if (std::holds_alternative<Ellipsis>(item.value()))
        add_whole_axes(std::exchange(unnamed, 0));
      else
        add_new_axis();
    }
    add_whole_axes(unnamed);
  }

  IndexPlan take() {
    if (runs_ > 1) plan_.place = 0;
    for (std::size_t d = 0; d <= plan_.ranges.size(); ++d) {
      if (static_cast<std::int64_t>(d) == plan_.place)
        for (const auto length : plan_.indices) plan_.shape.push_back(length);
      if (d < plan_.ranges.size())
        plan_.shape.push_back(plan_.ranges[d] < 0 ? 1 : plan_.axes[static_cast<std::size_t>(plan_.ranges[d])].count);
    }
    return std::move(plan_);
  }

 private:
  void begin_indices() {
    if (in_run_) return;
    in_run_ = true;
    if (++runs_ == 1) plan_.place = static_cast<std::int64_t>(plan_.ranges.size());
  }

  void add(std::int64_t index) {
    const auto at = index_in_range(index, x_, axis());
    plan_.axes.push_back({IndexedAxis::Kind::fixed, at});
    plan_.items.push_back({IndexItem::Kind::integer, at, 0, 1, false});
  }

  void add(const Array& indices) {
    if (!is_integer(indices.dtype()))
      throw DtypeError(fmt::format("x[...]: an index is {}; indices are integers or bool", type_string(indices)));
    if (x_.shape()[axis()] == 0 && indices.size() > 0)
      throw IndexError(fmt::format("x[...]: axis {} of {} is empty, {} indices point into it", axis(), type_string(x_), indices.size()));
    try {
      plan_.indices = broadcast_shapes(plan_.indices, indices.shape(), "x[...]");
    } catch (const ShapeError&) {
      throw IndexError(fmt::format("x[...]: arrays of indices that go together have shapes {} and {}, which do not broadcast",
                                   to_string(plan_.indices), to_string(indices.shape())));
    }
    plan_.axes.push_back({IndexedAxis::Kind::array, 0, 1, 1, plan_.arrays.size()});
    plan_.arrays.push_back(indices);
    plan_.items.push_back({IndexItem::Kind::array, 0, 0, 1, false});
  }

  void add(const Slice& slice) {
    const auto n = x_.shape()[axis()];
    const auto cut = cut_of(slice, n, axis());
    plan_.items.push_back({IndexItem::Kind::range, cut.start, cut.start + cut.step * cut.count, cut.step,
                           cut.count == n && (cut.step == 1 || cut.step == -1)});
    plan_.ranges.push_back(axis());
    plan_.axes.push_back({IndexedAxis::Kind::range, cut.start, cut.step, cut.count});
  }

  void add_new_axis() {
    plan_.ranges.push_back(-1);
    plan_.items.push_back({IndexItem::Kind::new_axis});
  }

  void add_whole_axes(std::int64_t count) {
    for (; count > 0; --count) add(Slice());
  }

  std::int64_t axis() const { return std::ssize(plan_.axes); }

  const Array& x_;
  IndexPlan plan_{};
  bool in_run_ = false;
  int runs_ = 0;
};

}  // namespace

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

std::int64_t unnamed_axes(std::span<const IndexExpression> items, const Array& x) {
  std::int64_t named = 0, ellipses = 0;
  for (const auto& item : items) {
    named += axes_named(item);
    ellipses += std::holds_alternative<Ellipsis>(item.value());
  }
  if (named > x.ndim()) throw IndexError(fmt::format("x[...]: {} indices for {}, which has {} axes", named, type_string(x), x.ndim()));
  if (ellipses > 1) throw IndexError("x[...]: more than one ellipsis");
  return x.ndim() - named;
}

std::int64_t index_in_range(std::int64_t index, const Array& x, std::int64_t axis) {
  const auto n = x.shape()[axis];
  if (index < -n || index >= n)
    throw IndexError(
        fmt::format("x[...]: index {} is out of range for axis {} of {}, which has length {}", index, axis, type_string(x), n));
  return index < 0 ? index + n : index;
}

std::int64_t resolved_index(std::int64_t index, std::int64_t n, IndexMode mode) {
  if (mode == IndexMode::wrap) return (index % n + n) % n;
  if (index < 0) index += n;
  if (index >= 0 && index < n) return index;
  return mode == IndexMode::clip ? std::clamp<std::int64_t>(index, 0, n - 1) : -1;
}

Array wide_indices(const Array& indices) {
  return indices.dtype() == uint64 ? minimum(indices, std::uint64_t{1} << 62).astype(int64) : indices.astype(int64);
}

IndexPlan plan_index(const Array& x, std::span<const IndexExpression> items) {
  Planner planner(x);
  planner.add(without_masks(x, items));
  return planner.take();
}

}  // namespace meshwise::detail

// Copies of arrays with a part replaced or combined: x stays where it lies; updates and indices are brought to every device.

#include <fmt/format.h>

#include <algorithm>

#include "array/dispatch.hpp"
#include "meshwise/array/create.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "ops/index_plan.hpp"
#include "ops/kernels/scatter.hpp"
#include "ops/window.hpp"

namespace meshwise {

namespace {

using detail::IndexedAxis;
using detail::IndexPlan;
using detail::ScatterOp;
using detail::ScatterStep;

// One block's share of the update.
class Places {
 public:
  Places(const IndexPlan& plan, const Shape& shape, const Index& box, const LocalArray& update)
      : plan_(plan), shape_(shape), box_(box), strides_(row_major_strides(box.shape())), update_(update) {}

  // False where none of the update falls into the block.
  bool find(std::span<const LocalArray> indices, IndexMode mode) {
    std::int64_t fixed = 0;
    for (std::int64_t axis = 0; axis < shape_.ndim(); ++axis) {
      const auto& of_axis = plan_.axes[at(axis)];
      if (of_axis.kind != IndexedAxis::Kind::fixed) continue;
      if (of_axis.start < box_[axis].start || of_axis.start >= box_[axis].stop) return false;
      fixed += (of_axis.start - box_[axis].start) * strides_[at(axis)];
    }
    const auto ranges = std::ssize(plan_.ranges);
    // The innermost loop is over the last range, or over those behind the arrays' axes.
    const auto place = plan_.arrays.empty() ? std::max<std::int64_t>(ranges - 1, 0) : plan_.place;
    for (std::int64_t d = 0; d < place; ++d) add_range(places_.outer, d, d);
    for (std::int64_t d = place; d < ranges; ++d) add_range(places_.inner, d, d + plan_.indices.ndim());
    if (!plan_.arrays.empty()) add_indices(indices, mode);
    for (auto& step : places_.middle) step.block += fixed;
    return !places_.outer.empty() && !places_.middle.empty() && !places_.inner.empty();
  }

  const detail::ScatterPlaces& places() const { return places_; }

 private:
  static std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

  // Each of the steps so far, with each element of range d that the block has.
  void add_range(std::vector<ScatterStep>& steps, std::int64_t d, std::int64_t update_axis) {
    const auto axis = plan_.ranges[at(d)];
    if (axis < 0) return;
    const auto& range = plan_.axes[at(axis)];
    std::vector<ScatterStep> all;
    for (const auto& step : steps)
      for (std::int64_t i = 0; i < range.count; ++i) {
        const auto place = range.start + i * range.step;
        if (place >= box_[axis].start && place < box_[axis].stop)
          all.push_back(
              {step.block + (place - box_[axis].start) * strides_[at(axis)], step.update + i * update_.strides()[at(update_axis)]});
      }
    steps = std::move(all);
  }

  void add_indices(std::span<const LocalArray> indices, IndexMode mode) {
    places_.middle.clear();
    const auto count = plan_.indices.num_elements();
    std::vector<std::int64_t> index(at(plan_.indices.ndim()), 0);
    for (std::int64_t k = 0; k < count; ++k) {
      ScatterStep step;
      bool here = true;
      for (std::int64_t axis = 0; axis < shape_.ndim() && here; ++axis) {
        const auto& of_axis = plan_.axes[at(axis)];
        if (of_axis.kind != IndexedAxis::Kind::array) continue;
        const auto wanted = reinterpret_cast<const std::int64_t*>(indices[of_axis.number].data())[k];
        const auto place = detail::resolved_index(wanted, shape_[axis], mode);
        here = place >= box_[axis].start && place < box_[axis].stop;
        step.block += (place - box_[axis].start) * strides_[at(axis)];
      }
      if (here) {
        for (std::size_t d = 0; d < index.size(); ++d) step.update += index[d] * update_.strides()[at(plan_.place) + d];
        places_.middle.push_back(step);
      }
      for (auto d = plan_.indices.ndim(); d-- > 0;) {
        if (++index[at(d)] < plan_.indices[d]) break;
        index[at(d)] = 0;
      }
    }
  }

  const IndexPlan& plan_;
  const Shape& shape_;
  const Index& box_;
  PerAxis<std::int64_t> strides_;
  const LocalArray& update_;
  detail::ScatterPlaces places_{};
};

// u read under the shape of the part.
LocalArray broadcast(const LocalArray& u, const Shape& shape) {
  PerAxis<std::int64_t> strides(static_cast<std::size_t>(shape.ndim()), 0);
  const auto lead = shape.ndim() - u.ndim();
  for (std::int64_t d = 0; d < u.ndim(); ++d)
    if (u.shape()[d] != 1) strides[static_cast<std::size_t>(lead + d)] = u.strides()[static_cast<std::size_t>(d)];
  return detail::window(u, shape, std::move(strides));
}

void check_broadcast(const Array& u, const IndexPlan& plan, const Array& x) {
  bool fits = false;
  try {
    fits = broadcast_shapes(u.shape(), plan.shape, "at") == plan.shape;
  } catch (const ShapeError&) {
  }
  if (!fits)
    throw ShapeError(fmt::format("at: the update {} does not broadcast to the part of {}, which has shape {}", type_string(u),
                                 type_string(x), to_string(plan.shape)));
}

constexpr std::int64_t large_update = 4096;  // elements that every device can as well be given

// A box of x, and an update so large that each device is sent its own part of it alone.
bool moves_as_box(const IndexPlan& plan, const Array& x, const Array& u) {
  if (!plan.arrays.empty() || u.size() < large_update || !x.committed() || x.sharding().mesh().is_explicit() || x.dtype() == bool_) return false;
  return std::all_of(plan.axes.begin(), plan.axes.end(), [](const IndexedAxis& axis) { return axis.step == 1 && axis.count > 0; });
}

Array update_box(const Array& x, const IndexPlan& plan, ScatterOp op, const Array& u) {
  Shape shape;
  std::vector<Operand> starts;
  std::vector<IndexExpression> box;
  for (const auto& axis : plan.axes) {
    const auto count = axis.kind == IndexedAxis::Kind::fixed ? 1 : axis.count;
    shape.push_back(count);
    starts.emplace_back(axis.start);
    box.emplace_back(Slice(axis.start, axis.start + count));
  }
  auto part = reshape(broadcast_to(u, plan.shape), shape);
  if (op != ScatterOp::set) {
    const auto old = getitem(x, box);
    part = op == ScatterOp::add        ? add(old, part)
           : op == ScatterOp::subtract ? subtract(old, part)
           : op == ScatterOp::multiply ? multiply(old, part)
           : op == ScatterOp::max      ? maximum(old, part)
                                       : minimum(old, part);
  }
  return dynamic_update_slice(x, part, starts);
}

Array update(const Array& x, const std::vector<IndexExpression>& items, ScatterOp op, const Operand& given, IndexMode mode) {
  const auto plan = detail::plan_index(x, items);
  const auto u = (given.array() != nullptr ? *given.array() : asarray(*given.scalar())).astype(x.dtype());
  check_broadcast(u, plan, x);
  if (moves_as_box(plan, x, u)) return update_box(x, plan, op, u);
  std::vector<Operand> operands{x, u};
  for (const auto& indices : plan.arrays) {
    const auto wide = detail::wide_indices(indices);
    operands.emplace_back(indices.shape() == plan.indices ? wide : broadcast_to(wide, plan.indices));
  }
  detail::Request request;
  request.operation = "at";
  request.rule = LayoutRule::at_set;
  request.attributes.items = plan.items;
  request.operands = operands;
  request.shape = x.shape();
  request.dtype = x.dtype();
  request.salt = detail::mix(static_cast<std::uint64_t>(op), static_cast<std::uint64_t>(mode));
  request.kernel = [plan, op, mode, whole = x.shape()](std::span<const LocalArray> in, const detail::KernelContext& context) {
    LocalArray block(in[0].shape(), in[0].dtype());
    copy_values(in[0], block);
    if (block.size() == 0 || plan.shape.num_elements() == 0) return block;
    const auto update = broadcast(in[1], plan.shape);
    std::vector<LocalArray> indices;
    for (const auto& each : in.subspan(2)) indices.push_back(each.contiguous());
    Places places(plan, whole, context.result_box, update);
    if (places.find(indices, mode)) run_scatter(op, block, update, places.places());
    return block;
  };
  return detail::dispatch(request);
}

}  // namespace

Update at(const Array& x, std::vector<IndexExpression> items, IndexMode mode) { return {x, std::move(items), mode}; }

Array Update::set(const Operand& u) const { return update(x_, items_, ScatterOp::set, u, mode_); }
Array Update::add(const Operand& u) const { return update(x_, items_, ScatterOp::add, u, mode_); }
Array Update::subtract(const Operand& u) const { return update(x_, items_, ScatterOp::subtract, u, mode_); }
Array Update::multiply(const Operand& u) const { return update(x_, items_, ScatterOp::multiply, u, mode_); }
Array Update::max(const Operand& u) const { return update(x_, items_, ScatterOp::max, u, mode_); }
Array Update::min(const Operand& u) const { return update(x_, items_, ScatterOp::min, u, mode_); }

}  // namespace meshwise

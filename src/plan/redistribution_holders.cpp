#include "plan/redistribution_holders.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "meshwise/base/error.hpp"

namespace meshwise {

namespace {

std::int64_t at_or(const std::vector<std::int64_t>& values, std::int64_t axis, std::int64_t otherwise) {
  return values.empty() ? otherwise : values[static_cast<std::size_t>(axis)];
}

// An axis of length 0 may have units of length 0.
std::int64_t unit_of(const End& end, std::int64_t axis) { return std::max<std::int64_t>(1, at_or(end.unit, axis, 1)); }

detail::CutAxis cut(const End& end, AxisView view, std::int64_t extent) {
  const auto unit = unit_of(end, view.axis);
  detail::CutAxis out{&end.sharding.split(view.axis), end.shape[view.axis] / unit, unit, view.start, view.step, extent};
  if (end.panel && end.panel->axis == view.axis) {
    out.panel = end.panel->number;
    out.panels = end.panel->of;
    out.across = end.panel->across;
  }
  return out;
}

[[noreturn]] void refuse(const End& end, const char* side, const std::string& what) {
  throw ShapeError(fmt::format("redistribution: {}, but the {} array has shape {}", what, side, to_string(end.shape)));
}

void check_sizes(const End& end, const Shape& extent, const char* side) {
  end.sharding.check_fits(end.shape);
  const auto ndim = static_cast<std::size_t>(end.shape.ndim());
  if (!end.views.empty() && end.views.size() != static_cast<std::size_t>(extent.ndim()))
    refuse(
        end, side,
        fmt::format("a movement of extent {} needs one view for each of its axes and was given {}", to_string(extent), end.views.size()));
  for (const auto* each : {&end.unit, &end.fixed})
    if (!each->empty() && each->size() != ndim)
      refuse(end, side, fmt::format("{} units or fixed indices were given for its axes", each->size()));
  for (std::int64_t a = 0; a < end.shape.ndim(); ++a)
    if (end.shape[a] % unit_of(end, a) != 0) refuse(end, side, fmt::format("axis {} was to be runs of {}", a, unit_of(end, a)));
}

void check_view(const End& end, AxisView view, std::int64_t extent, const char* side) {
  if (view.axis < 0 || view.axis >= end.shape.ndim()) refuse(end, side, fmt::format("a view names axis {}", view.axis));
  if (extent == 0) return;
  const auto last = view.start + view.step * (extent - 1), n = end.shape[view.axis];
  if (view.step == 0 || std::min(view.start, last) < 0 || std::max(view.start, last) >= n)
    refuse(end, side, fmt::format("a view takes {} elements of axis {} from {} in steps of {}", extent, view.axis, view.start, view.step));
}

}  // namespace

Index End::box_at(std::int64_t position) const {
  sharding.check_fits(shape);
  auto box = Index::whole(shape);
  for (std::int64_t a = 0; a < shape.ndim(); ++a) box[a] = cut(*this, {.axis = a}, shape[a]).elements(sharding.split(a).part_at(position));
  return box;
}

Movement Movement::reshard(const Sharding& from, const Sharding& to, const Shape& shape) {
  return {End{.sharding = from, .shape = shape}, End{.sharding = to, .shape = shape}, shape};
}

namespace detail {

Holders::Holders(const End& end, const Shape& extent, const char* side) : end_(end) {
  check_sizes(end, extent, side);
  std::vector<bool> viewed(static_cast<std::size_t>(end.shape.ndim()), false);
  for (std::int64_t d = 0; d < extent.ndim(); ++d) {
    const auto view = end.views.empty() ? AxisView{.axis = d} : end.views[static_cast<std::size_t>(d)];
    check_view(end, view, extent[d], side);
    if (viewed[static_cast<std::size_t>(view.axis)]) refuse(end, side, fmt::format("two views name axis {}", view.axis));
    viewed[static_cast<std::size_t>(view.axis)] = true;
    axes_.push_back(cut(end, view, extent[d]));
  }
  for (std::int64_t a = 0; a < end.shape.ndim(); ++a) {
    if (viewed[static_cast<std::size_t>(a)]) continue;
    const auto index = at_or(end.fixed, a, 0);
    if (extent.num_elements() == 0) continue;
    if (index < 0 || index >= end.shape[a] || (end.fixed.empty() && end.shape[a] != 1))
      refuse(end, side,
             fmt::format("no view names axis {}, which is taken at {}", a, end.fixed.empty() ? "no index" : std::to_string(index)));
    const auto axis = cut(end, {.axis = a, .start = index}, 1);
    fixed_.push_back({axis.split, axis.part_at(0)});
    first_box_ += axis.offset(axis.part_at(0));
  }
}

std::optional<std::int64_t> Holders::find(std::int64_t device_id) const {
  const auto position = devices().position_of(device_id);
  if (!position) return std::nullopt;
  for (const auto& f : fixed_)
    if (f.split->part_at(*position) != f.part) return std::nullopt;
  return position;
}

std::int64_t Holders::box_of(std::int64_t position) const {
  auto box = position;
  for (const auto& d : copies().digits) box -= position / d.stride % d.size * d.stride;
  return box;
}

std::int64_t Holders::holder(std::int64_t box, std::int64_t copy) const {
  for (const auto& d : copies().digits) box += copy / d.weight % d.size * d.stride;
  return box;
}

std::vector<std::int64_t> Holders::within(std::int64_t box, const Nearby& near) const {
  std::vector<std::int64_t> found;
  if (copies().parts <= near.size()) {
    for (std::int64_t copy = 0; copy < copies().parts; ++copy)
      if (const auto position = holder(box, copy); near.contains(devices().id(position))) found.push_back(position);
  } else {
    for (std::int64_t k = 0; k < near.size(); ++k)
      if (const auto position = devices().position_of(near[k]); position && box_of(*position) == box) found.push_back(*position);
    std::sort(found.begin(), found.end());
  }
  return found;
}

std::optional<std::int64_t> Holders::first_within(std::int64_t box, const Nearby& near) const {
  if (copies().parts <= near.size()) {
    for (std::int64_t copy = 0; copy < copies().parts; ++copy)
      if (const auto position = holder(box, copy); near.contains(devices().id(position))) return position;
    return std::nullopt;
  }
  std::optional<std::int64_t> first;
  for (std::int64_t k = 0; k < near.size(); ++k)
    if (const auto position = devices().position_of(near[k]); position && box_of(*position) == box && (!first || *position < *first))
      first = position;
  return first;
}

}  // namespace detail
}  // namespace meshwise

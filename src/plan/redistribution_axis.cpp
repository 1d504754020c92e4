#include "plan/redistribution_axis.hpp"

#include <algorithm>
#include <cstdlib>

namespace meshwise::detail {

namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

}  // namespace

Range CutAxis::elements(std::int64_t p) const {
  auto range = part(p, split->parts, units);
  if (panels > 1 && across) {
    const auto wanted = intersect(range, part(panel, panels, units));
    range = wanted.empty() ? Range{range.start, range.start} : wanted;
  } else if (panels > 1) {
    const auto within = part(panel, panels, range.size());
    range = {range.start + within.start, range.start + within.stop};
  }
  return {range.start * unit, range.stop * unit};
}

Range CutAxis::coordinates(std::int64_t p) const {
  const auto e = elements(p);
  // The c with e.start <= start + step * c < e.stop.
  const auto low = e.start - start, high = e.stop - start;
  const auto range =
      step > 0 ? Range{ceil_div(low, step), ceil_div(high, step)} : Range{floor_div(high, step) + 1, floor_div(low, step) + 1};
  return intersect(range, {0, extent});
}

std::int64_t CutAxis::part_at(std::int64_t coordinate) const {
  if (split->parts == 1) return 0;
  return part_of((start + step * coordinate) / unit, split->parts, units);
}

std::int64_t CutAxis::offset(std::int64_t p) const {
  std::int64_t positions = 0;
  for (const auto& d : split->digits) positions += p / d.weight % d.size * d.stride;
  return positions;
}

AxisReach reach(const CutAxis& source, std::int64_t source_part, const CutAxis& target) {
  const auto held = source.coordinates(source_part);
  if (held.empty()) return {};
  const auto a = target.part_at(held.start), b = target.part_at(held.stop - 1);  // a negative step turns them round
  return {held, source.offset(source_part), std::min(a, b), std::abs(a - b) + 1};
}

AxisOverlap overlap(const AxisReach& source, const CutAxis& target, std::int64_t target_part) {
  return {intersect(source.coordinates, target.coordinates(target_part)), source.offset, target.offset(target_part),
          target_part - source.first, source.count};
}

// Walks from overlap to overlap rather than over part numbers: empty parts, and parts that a step leaps over, cost nothing.
std::vector<AxisOverlap> overlaps(const CutAxis& source, const CutAxis& target, std::int64_t target_part) {
  std::vector<AxisOverlap> found;
  for (auto rest = target.coordinates(target_part); !rest.empty(); rest.start = found.back().range.stop)
    found.push_back(overlap(reach(source, source.part_at(rest.start), target), target, target_part));
  return found;
}

}  // namespace meshwise::detail

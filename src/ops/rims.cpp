#include "ops/rims.hpp"

#include <algorithm>

#include "base/boxes.hpp"
#include "ops/widened.hpp"

namespace meshwise::detail {

namespace {

enum class Where : std::uint8_t { before, inside, after };

// Of what each part wants, that which lies there, seen from what it has.
Reach only(const Reach& reach, Where where) {
  Reach out{reach.length};
  for (std::int64_t t = 0; t < reach.parts(); ++t) {
    const auto own = part(t, reach.parts(), reach.length);
    const Range side = where == Where::before ? Range{0, own.start} : where == Where::inside ? own : Range{own.stop, reach.length};
    const auto range = intersect(reach.wanted[static_cast<std::size_t>(t)], side);
    out.wanted.push_back(range.empty() ? Range{} : range);
  }
  return out;
}

}  // namespace

Rims::Rims(std::string_view operation, const Array& x, const std::vector<Reach>& reaches, std::uint64_t salt) {
  operands_.emplace_back(x);
  // Slabs: before and behind the part along an axis, beside it along earlier ones, and with their rims along later ones.
  auto slab = reaches;
  for (std::size_t d = 0; d < reaches.size(); ++d) {
    for (const auto where : {Where::before, Where::after}) {
      slab[d] = only(reaches[d], where);
      if (std::ranges::any_of(slab, [](const Reach& reach) { return reach.longest() == 0; })) continue;
      ranges_.push_back(slab);
      operands_.emplace_back(moved_ranges(operation, x, slab, {}, 0, salt + ranges_.size()));
    }
    slab[d] = only(reaches[d], Where::inside);
  }
}

LocalArray Rims::region(std::span<const LocalArray> in, const Index& own, const Index& result_box, const Shape& shape, const Index& wanted) const {
  if (intersection(wanted, own) == wanted) return in[0].box(relative(wanted, own));
  LocalArray out(wanted.shape(), in[0].dtype());
  const auto copy = [&](const LocalArray& block, const Index& box) {
    const auto common = intersection(wanted, box);
    if (!common.empty()) copy_values(block.box(relative(common, box)), out.box(relative(common, wanted)));
  };
  copy(in[0], own);
  for (std::size_t rim = 0; rim < ranges_.size(); ++rim) {
    Index box;
    for (std::int64_t d = 0; d < wanted.ndim(); ++d) box.push_back(ranges_[rim][static_cast<std::size_t>(d)].wanted_at(result_box[d], shape[d]));
    copy(in[rim + 1], box);
  }
  return out;
}

}  // namespace meshwise::detail

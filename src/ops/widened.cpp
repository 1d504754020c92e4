#include "ops/widened.hpp"

#include <algorithm>

#include "array/move.hpp"
#include "meshwise/base/hash.hpp"
#include "ops/split_axis.hpp"

namespace meshwise::detail {

namespace {

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

const Range& wanted_of(const Reach& reach, const Range& result, std::int64_t length) {
  return reach.wanted[at(part_of(result.start, reach.parts(), length))];
}

RegionMove region_of(const HaloMove& move) {
  RegionMove out;
  for (std::size_t d = 0; d < move.size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    out.source.push_back({axis, move[d].first, move[d].step});
    out.target.push_back({axis, move[d].to, 1});
    out.extent.push_back(move[d].count);
  }
  return out;
}

}  // namespace

LocalArray Widened::block(const LocalArray& in, const Index& box, const Index& result_box, const Shape& shape) const {
  Index inside;
  for (std::int64_t d = 0; d < in.ndim(); ++d) {
    const auto& range = wanted_of(reaches[at(d)], result_box[d], shape[d]);
    const auto first = is_copy ? 0 : range.start - box[d].start;
    inside.push_back({first, first + range.size()});
  }
  return in.box(inside).contiguous();
}

PerAxis<std::int64_t> Widened::start(const Index& result_box, const Shape& shape) const {
  PerAxis<std::int64_t> out;
  for (std::int64_t d = 0; d < shape.ndim(); ++d) out.push_back(wanted_of(reaches[at(d)], result_box[d], shape[d]).start);
  return out;
}

Widened widened(std::string_view operation, const Array& x, std::vector<Reach> reaches, std::optional<PadMode> mode, const Scalar& fill,
                std::uint64_t salt) {
  if (std::ranges::all_of(reaches, &Reach::stays_in_parts)) return {x, std::move(reaches)};
  const Operand operands[] = {x};
  Request request;
  request.operation = operation;
  request.rule = LayoutRule::blockwise;
  request.operands = operands;
  request.dtype = x.dtype();
  request.salt = salt;
  std::vector<AxisSplit> splits;
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    splits.push_back(split_of(x, d));
    request.shape.push_back(reaches[at(d)].parts() * reaches[at(d)].longest());
  }
  const auto positions = x.committed() ? local_positions(x.sharding().devices()) : std::vector<std::int64_t>{0};
  std::vector<RegionMove> moves;
  for (const auto& move : halo_moves(splits, reaches, mode, positions)) moves.push_back(region_of(move));
  return {dispatch_moves(request, moves, fill), std::move(reaches), true};
}

}  // namespace meshwise::detail

#include "ops/widened.hpp"

#include <algorithm>

#include "array/move.hpp"
#include "meshwise/base/hash.hpp"
#include "ops/split_axis.hpp"

namespace meshwise::detail {

namespace {

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

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
    const auto& range = reaches[at(d)].wanted_at(result_box[d], shape[d]);
    const auto first = is_copy ? 0 : range.start - box[d].start;
    inside.push_back({first, first + range.size()});
  }
  return in.box(inside).contiguous();
}

Array moved_ranges(std::string_view operation, const Array& x, std::span<const Reach> reaches, std::optional<PadMode> mode, const Scalar& fill,
                   std::uint64_t salt) {
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
  return dispatch_moves(request, moves, fill);
}

Widened widened(std::string_view operation, const Array& x, std::vector<Reach> reaches, std::optional<PadMode> mode, const Scalar& fill,
                std::uint64_t salt) {
  if (std::ranges::all_of(reaches, &Reach::stays_in_parts)) return {x, std::move(reaches)};
  auto array = moved_ranges(operation, x, reaches, mode, fill, salt);
  return {std::move(array), std::move(reaches), true};
}

}  // namespace meshwise::detail

#pragma once
// When a donated array moves in parts, so that its memory goes as the result's comes.

#include <cstdint>

#include "meshwise/base/shape.hpp"
#include "meshwise/placement/sharding.hpp"

namespace meshwise {

/// Local. In how many parts a donated array moves.
inline constexpr std::int64_t donated_parts = 16;

/// Local. Whether an array of items of `itemsize` bytes, donated, moves in parts: its blocks are large, and it goes to another layout on its own devices.
/// (Between other devices no rank holds both source and result, and a transfer that proceeds by itself is worth more.) The same on every rank.
bool moves_in_parts(const Sharding& from, const Sharding& to, const Shape& shape, std::int64_t itemsize);

/// Local. One part of a piece: the axis along which the piece is cut, and what of it belongs to the part.
struct DonatedPart {
  std::size_t axis;
  Range range;
};

/// Local. Part `k` of `donated_parts` of a piece with these extents, at least one axis: along its first axis long enough for all parts, else along its
/// longest. Both ends cut alike, since both know the extents.
DonatedPart donated_part(const PerAxis<std::int64_t>& extents, std::int64_t k);

}  // namespace meshwise

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

}  // namespace meshwise

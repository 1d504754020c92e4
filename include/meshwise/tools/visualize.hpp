#pragma once
// Pictures of layouts for the terminal.

#include <cstdint>
#include <string>

#include "meshwise/array/array.hpp"
#include "meshwise/placement/sharding.hpp"

namespace meshwise {

/// Local. The picture of how a sharding cuts an array of that shape: a cell a part, with the devices that hold it; at most `width` columns wide.
/// Of more than two split axes the first two are drawn, and a cell names the devices of all parts in it. Sizes are proportional; empty parts are
/// listed below. (4, 16) under P("x", "y") on a (2, 2) mesh:
///
///     ┌───────┬───────┐
///     │ CPU 0 │ CPU 1 │
///     ├───────┼───────┤
///     │ CPU 2 │ CPU 3 │
///     └───────┴───────┘
///     axis 0: 4 over 'x', downwards; axis 1: 16 over 'y', across
///
/// Throws: PlacementError when the spec is longer than the shape.
std::string visualize(const Sharding& sharding, const Shape& shape, std::int64_t width = 80);
/// Local. The same for an array, under its type: `float32[4@x,16@y]`.
std::string visualize(const Array& array, std::int64_t width = 80);

}  // namespace meshwise

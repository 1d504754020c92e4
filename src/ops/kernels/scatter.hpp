#pragma once
// Elements of an update written over, or combined with, those of one block at places that are given.

#include <cstdint>
#include <vector>

#include "meshwise/array/local_array.hpp"

namespace meshwise::detail {

enum class ScatterOp : std::uint8_t { set, add, subtract, multiply, max, min };

/// Local. Where an element of the block is, and which of the update goes there, both counted in elements; places of three nested loops add up.
struct ScatterStep {
  std::int64_t block = 0, update = 0;
};
struct ScatterPlaces {
  std::vector<ScatterStep> outer{{}}, middle{{}}, inner{{}};
};

/// Local. block[...] (op)= update[...], in the loops' order. The block is dense and the caller's own; the update has its dtype.
void run_scatter(ScatterOp op, const LocalArray& block, const LocalArray& update, const ScatterPlaces& places);

}  // namespace meshwise::detail

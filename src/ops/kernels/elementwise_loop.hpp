#pragma once
// What an inner loop of an elementwise operation takes.

#include <cstddef>
#include <cstdint>

namespace meshwise::detail {

/// Local. An input of an inner loop: dense elements, or a single one that every element of the result takes.
struct OperandLane {
  const std::byte* data = nullptr;
  bool single = false;
};

/// Local. Computes `count` dense elements. Not all lanes are single (the runner computes one element then and repeats it).
using ElementwiseLoop = void (*)(const OperandLane* lanes, std::byte* out, std::int64_t count);

}  // namespace meshwise::detail

#pragma once
// Which elements of a stored array are read.

#include <cstdint>
#include <vector>

#include "meshwise/base/shape.hpp"

namespace meshwise::io {

/// Rows 100 to 199 of [n, 8], each tenth of them: {.box = {{100, 200}, {0, 8}}, .steps = {10, 1}} -> [10, 8].
struct ReadOptions {
  Index box{};                        // a range for each axis, within the array; the whole array if there is none
  std::vector<std::int64_t> steps{};  // for each axis, from one element of the box to the next that is read; all 1 if empty
};

}  // namespace meshwise::io

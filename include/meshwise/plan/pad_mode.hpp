#pragma once

#include <cstdint>

namespace meshwise {

/// Local. What stands around an array a b c: edge a a|a b c|c c, reflect c b|a b c|b a, symmetric b a|a b c|c b, wrap b c|a b c|a b; wider ones go on so.
enum class PadMode : std::uint8_t { edge, reflect, symmetric, wrap };

}  // namespace meshwise

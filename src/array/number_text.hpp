#pragma once
// Numbers as NumPy writes them: the fewest digits that name the value, at most eight behind the point, aligned in columns.

#include <cstdint>
#include <string>
#include <vector>

#include "meshwise/base/dtype.hpp"

namespace meshwise::detail {

/// Local. One number alone, as `str` of a NumPy scalar: `1.5`, `1e-05`, `(1+2j)`, `True`.
std::string scalar_text(Dtype dtype, const std::byte* value);

/// Local. `count` dense values, each as text of one width (NumPy's array formatting over all of them).
std::vector<std::string> aligned_texts(Dtype dtype, const std::byte* values, std::int64_t count);

}  // namespace meshwise::detail

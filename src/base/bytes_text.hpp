#pragma once
// Sizes as people read them.

#include <string>

namespace meshwise::detail {

/// Local. `512 B`, `1.50 KiB`, `12.0 GiB`.
std::string bytes_text(double bytes);

}  // namespace meshwise::detail

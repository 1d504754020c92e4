#include "base/bytes_text.hpp"

#include <cstddef>
#include <iterator>

#include <fmt/format.h>

namespace meshwise::detail {

std::string bytes_text(double value) {
  if (value < 1024) return fmt::format("{:.0f} B", value);
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, units[unit]);
}

}  // namespace meshwise::detail

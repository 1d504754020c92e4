#include "io/checkpoint/crc32c.hpp"

#include <algorithm>

#include <isa-l/crc.h>

namespace meshwise::detail {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
  constexpr std::size_t most = std::size_t{1} << 30;  // ISA-L counts in int
  auto state = ~crc;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), most));
    // ISA-L only reads, but its parameter is not const.
    state = crc32_iscsi(reinterpret_cast<unsigned char*>(const_cast<std::byte*>(part.data())), static_cast<int>(part.size()), state);
    bytes = bytes.subspan(part.size());
  }
  return ~state;
}

}  // namespace meshwise::detail

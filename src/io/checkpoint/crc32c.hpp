#pragma once
// Checksums of what lies on disk (CRC32C, RFC 3720: polynomial 0x1EDC6F41, reflected, both ends inverted).

#include <cstddef>
#include <cstdint>
#include <span>

namespace meshwise::detail {

/// Local. The checksum of what `crc` is the checksum of (0: of nothing), followed by `bytes`: crc32c("123456789") is 0xE3069283.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);

}  // namespace meshwise::detail

#pragma once
// How much memory packing takes.

#include <cstdint>

namespace meshwise::detail {

/// Local. Bytes, each way, of what a rank packs or has not unpacked yet for transfers by MPI: sixteen chunks of 1 MiB.
inline constexpr std::int64_t most_staging = std::int64_t{16} << 20;

}  // namespace meshwise::detail

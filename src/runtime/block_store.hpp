#pragma once
// What the store counts.

#include <cstdint>

namespace meshwise::detail {

struct StoreStats {
  std::int64_t live = 0, peak = 0, pooled = 0;  // bytes
};
StoreStats store_stats();

}  // namespace meshwise::detail

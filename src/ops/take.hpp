#pragma once

#include <cstdint>
#include <optional>

#include "meshwise/ops/index.hpp"
#include "meshwise/plan/propagation.hpp"

namespace meshwise::detail {

/// Collective. take by the rule `take`, or by `gather_get` along axis 0.
Array take_rows(const Array& x, const Array& indices, std::int64_t axis, IndexMode mode, LayoutRule rule,
                const std::optional<PartitionSpec>& out_sharding);

}  // namespace meshwise::detail

#pragma once
// From the outcomes of devices that each summed a part to the sums.

#include <span>
#include <vector>

#include "array/layout.hpp"

namespace meshwise::detail {

/// Collective. `shards`, on this rank's devices in mesh order, are parts of sums in the boxes of `from`; they become the sums in the boxes of `to`: of devices that want different
/// boxes each gets its own, those that want one get all of it.
void combine_shards(std::vector<LocalShard>& shards, const Computation& how, const End& from, const End& to, const Reduction& reduction, const Ticket& ticket);

}  // namespace meshwise::detail

#pragma once
// Placement without the ledger: what device_put, device_get and dispatch share.

#include "array/move.hpp"
#include "array/state.hpp"

namespace meshwise::detail {

/// Local. This rank's shards of an uncommitted x on `target`: each distinct box once.
std::vector<LocalShard> place_uncommitted(const Array& x, const Sharding& target);

/// Local. Whether each device already holds what it shall have, so that placing x there sends nothing.
bool holds_already(const Array& x, const Sharding& target);

/// Collective over x's and the target's devices. x's shards on `target`, shared, made or moving.
Moved place(const Array& x, const Sharding& target, const Ticket& ticket);

/// Local. Another array over the same blocks: it lives on when x is deleted.
Array same_value(const Array& x);

/// Local. Throws: OutOfMemoryError, on every rank alike, when no rank could hold the largest block of such an array.
void check_room(std::string_view operation, Dtype dtype, const Shape& shape, const Sharding& sharding);

}  // namespace meshwise::detail

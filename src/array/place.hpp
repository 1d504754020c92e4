#pragma once
// Placement without the ledger: what device_put, device_get and dispatch share.

#include <optional>

#include "array/move.hpp"
#include "array/state.hpp"

namespace meshwise::detail {

/// Local. This rank's shards of an uncommitted x on `target`: each distinct box once.
std::vector<LocalShard> place_uncommitted(const Array& x, const Sharding& target);

/// Local. x's shards on `target` where that takes no exchange: recipes, windows, blocks that lie there already.
std::optional<Moved> place_here(const Array& x, const Sharding& target);

/// Local. A window that would keep a much larger block alive becomes a block of its own; not while blocks are on their way.
void make_windows_fair(Moved& moved);

/// Local. What ranks must agree on when x is placed: its type and the target; a recipe is all metadata, so that its values are checked too.
std::uint64_t hash_placement(const Array& x, const Sharding& target);

/// Collective over x's and the target's devices. x's shards on `target`, shared, made or moving.
Moved place(const Array& x, const Sharding& target, const Ticket& ticket);

/// Local. Another array over the same blocks: it lives on when x is deleted.
Array same_value(const Array& x);

/// Local. Throws: OutOfMemoryError, on every rank alike, when a rank could not hold its blocks of such an array, or a node those of its ranks.
void check_room(std::string_view operation, Dtype dtype, const Shape& shape, const Sharding& sharding);

/// Local. The errors a placement can have, before any byte moves. Throws: DonatedError, PlacementError, OutOfMemoryError.
void check_placement(const Array& x, const Sharding& target, std::string_view operation, std::string_view argument);

/// Local. This rank's shards of x as `target` places it, windows on x's own blocks: every device already has all that it wants.
std::vector<LocalShard> own_windows(const Array& x, const Sharding& target);

}  // namespace meshwise::detail

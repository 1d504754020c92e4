#pragma once
// A donated array moves in parts: the memory of what has been read goes back to the system before more of the result takes some.

#include <vector>

#include "array/move.hpp"

namespace meshwise::detail {

/// Collective. Takes x's shards away and gives those on `target`; waits. At its peak it holds one of both, and a sixteenth of the other. Blocks that
/// somebody else holds too keep their memory. Throws: OutOfMemoryError; x is as it was if that was found before the first part had arrived, else gone.
Moved run_drain(const Array& x, const Sharding& target, const Ticket& ticket);

}  // namespace meshwise::detail

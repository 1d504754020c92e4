#pragma once
// Measures how fast bytes travel among this job's ranks.

#include "meshwise/plan/links.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {

/// Synchronising over the world. Copies in memory, exchanges between pairs of ranks of a node and between neighbouring nodes, each with all ranks busy and with one
/// of a node alone; a few seconds. The same figures on every rank, those of the slowest node. A way that no two ranks have between them keeps its default
/// and is not marked as measured. Throws: OutOfMemoryError; CommunicationError; the sticky failure of another rank.
Links measure_links(const Ticket& ticket);

}  // namespace meshwise::detail

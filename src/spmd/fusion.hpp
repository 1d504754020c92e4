#pragma once
// Calls that become one pass over memory: elementwise ones whose values nobody else wants, and the reduction or elementwise call that ends them.

#include <vector>

#include "spmd/trace.hpp"

namespace meshwise::detail {

/// Local. Puts groups of calls of the trace together: the last one of each group becomes a call on what the group reads, and the others of it are no longer `live`.
/// `kept` are values that are wanted as they are: the results of the program. Groups have one shape and one placement, that of their last call's values (of its operand,
/// where it is a reduction): nothing moves that did not move before, and the result lies where it lay.
void fuse(Trace& trace, std::vector<bool>& live, const std::vector<bool>& kept);

}  // namespace meshwise::detail

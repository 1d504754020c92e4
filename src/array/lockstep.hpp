#pragma once
// MESHWISE_CHECK=lockstep: what ranks say of a placement is compared before anything is done, values included.

#include <string_view>

#include "array/state.hpp"

namespace meshwise::detail {

/// Local. Whether calls are compared as they are made.
bool in_lockstep();

/// Synchronising. Throws, the same on every rank: MismatchError naming two ranks and the first flat index at which their values differ, and both values.
void compare_values(const LocalArray& values, std::string_view operation);
/// Synchronising. Throws, the same on every rank: MismatchError naming two ranks and what each places where.
void compare_placements(const Array& x, const Sharding& target, std::string_view operation);

}  // namespace meshwise::detail

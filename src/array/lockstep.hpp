#pragma once
// MESHWISE_CHECK=lockstep: what ranks say of a placement is compared before anything is done, values included.

#include <cstdint>
#include <string>
#include <string_view>

#include "array/state.hpp"
#include "meshwise/base/function_ref.hpp"

namespace meshwise::detail {

/// Local. Whether calls are compared as they are made.
bool in_lockstep();

/// Synchronising. Throws, the same on every rank: MismatchError naming two ranks and the first flat index at which their values differ, and both values.
void compare_values(const LocalArray& values, std::string_view operation);
/// Synchronising. What a call is asked to do beyond its operands' types: `hash` stands for it, `words` say it of this rank, as in `takes [0:2] of
/// float32[8]`, and `cure` says what to write instead. Throws, the same on every rank: MismatchError naming two ranks and the words of both.
void compare_arguments(std::string_view operation, std::uint64_t hash, FunctionRef<std::string()> words, std::string_view cure);
/// Synchronising. The same for what is placed where.
void compare_placements(const Array& x, const Sharding& target, std::string_view operation);

}  // namespace meshwise::detail

#pragma once
// The first half of the one door: who takes part, whether the operands may meet, and which layout the result has.

#include <memory>

#include "array/dispatch.hpp"
#include "array/layout.hpp"

namespace meshwise::detail {

struct Negotiated {
  Ticket ticket{};
  std::shared_ptr<const Layout> layout{};  // absent: no operand is committed, every process computes the whole
};

/// Collective. Enters the call, then checks in order (SEMANTICS 5.2): alive, mesh types, sharding types, devices.
/// Throws: DonatedError, ShardingTypeError, CommitmentError.
Negotiated negotiate(const Request& request);

/// Local. The operand is a recipe and nothing is committed: the result may be a recipe.
bool all_recipes(const Request& request);

/// Local. A region's way from its operand, which is committed, to a result placed by `result`.
Movement movement_of(const RegionMove& move, const Request& request, const Sharding& result);

}  // namespace meshwise::detail

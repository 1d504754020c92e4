#pragma once
// What a move of this array would cost here: on this job's nodes, by the figures of its links.

#include <string>

#include "meshwise/array/device_put.hpp"
#include "meshwise/plan/cost.hpp"

namespace meshwise {

/// Local. What device_put(x, target, options) would cost; an uncommitted x costs nothing but its blocks, each device makes its own.
/// Throws: DonatedError; PlacementError when the target's spec has more entries than x has axes.
PlanReport plan_report(const Array& x, const Sharding& target, PutOptions options = {});
/// Local. The same as a table.
std::string explain(const Array& x, const Sharding& target, PutOptions options = {});

}  // namespace meshwise

#pragma once
// What a move of this array would cost here: on this job's nodes, by the figures of its links; and what an operation would move.

#include <concepts>
#include <functional>
#include <string>

#include "meshwise/array/device_put.hpp"
#include "meshwise/plan/cost.hpp"

namespace meshwise {

/// Local. What device_put(x, target, options) would cost; an uncommitted x costs nothing but its blocks, each device makes its own.
/// Throws: DonatedError; PlacementError when the target's spec has more entries than x has axes.
PlanReport plan_report(const Array& x, const Sharding& target, PutOptions options = {});
/// Local. The same as a table.
std::string explain(const Array& x, const Sharding& target, PutOptions options = {});

namespace detail {
std::string explain_calls(const std::function<void()>& program);
}

/// Local. What `operation(operands...)` would move, call by call, before any of it runs: `explain([](auto& x, auto& y) { return matmul(x, y); }, a, b)`.
///
///     matmul: float32[8@x,16@y], float32[16,4] -> float32[8@x,4]
///       parts over y combined, to all of them: 256 B
///     256 B move in all, every device counted as a process
///
/// Operations decide their layouts as ever and nothing moves: the program gets arrays without values. Of a contraction it says which operand moves, or the
/// result. Throws: what the operations throw; Error where the program reads values, or does what depends on them.
template <class Operation, class... Operands>
  requires std::invocable<Operation&, const Operands&...>
std::string explain(Operation&& operation, const Operands&... operands) {
  return detail::explain_calls([&] { static_cast<void>(operation(operands...)); });
}

}  // namespace meshwise

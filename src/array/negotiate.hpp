#pragma once
// The first half of the one door: who takes part, whether the operands may meet, and which layout the result has.

#include <optional>
#include <vector>

#include "array/dispatch.hpp"

namespace meshwise::detail {

struct Negotiated {
  Ticket ticket{};
  std::optional<Sharding> result{};    // absent: no operand is committed, every process computes the whole
  std::vector<OperandType> types{};    // the operands as the layout rules saw them on the result's mesh
  std::optional<Mesh> mesh{};          // the result's mesh
  bool aligned = false;                // every operand lies exactly as the result does, or is a literal: nothing to decide, types is empty

  /// Local. `spec` on the result's mesh; `like` is handed back where it says the same.
  Sharding on_mesh(const PartitionSpec& spec, const Sharding& like) const;
};

/// Collective. Enters the call, then checks in order (SEMANTICS 5.2): alive, mesh types, sharding types, devices.
/// Throws: DonatedError, ShardingTypeError, CommitmentError.
Negotiated negotiate(const Request& request);

/// Local. The operand is a recipe and nothing is committed: the result may be a recipe.
bool all_recipes(const Request& request);

}  // namespace meshwise::detail

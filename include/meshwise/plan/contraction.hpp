#pragma once
// A contraction ("ij,jk->ik") on a mesh: which operand moves, or the result, how many bytes that is, and in how many steps.

#include <cstdint>
#include <span>
#include <vector>

#include "meshwise/plan/local_form.hpp"
#include "meshwise/plan/topology.hpp"

namespace meshwise {

/// Local. One way to compute a contraction. Each mesh axis cuts one letter, or none; what does not lie so is brought there.
///
/// float32[8@x,16@y] times float32[16,4] to float32[8@x,4]: y may cut j, and nothing moves but the sums over y; or nothing, and the left operand comes together.
struct ContractionStrategy {
  LocalForm form{};
  std::vector<std::int64_t> operand_bytes{};  // that move to bring each operand to form.operands, over all devices
  std::int64_t result_bytes = 0;              // that move to combine the outcomes and bring them to the result's place
  std::int64_t repeats = 1;                   // devices that compute the same product

  std::int64_t bytes() const;
};

/// Local. All ways, the best first: that which moves the fewest bytes, work that several devices repeat counting as bytes (16 products a byte) unless
/// nothing moves at all; of equal ones that which repeats the least. Devices count as processes of their own. With `attributes.in_order` contracted letters stay whole.
/// Throws: ShapeError for subscripts that don't fit the operands.
std::vector<ContractionStrategy> contraction_strategies(const Mesh& mesh, const Attributes& attributes, std::span<const OperandType> operands,
                                                        const Shape& result, const PartitionSpec& result_spec);

/// Local. A contraction in steps, so that what is brought, or is still to be combined, is never there whole. Over a contracted letter operands
/// come panel by panel and products add up; over a letter of the result it is made panel by panel.
struct Panels {
  char letter = '\0';  // none: one step, or panels of one operand
  std::int64_t count = 1;
  bool across = false;  // of the whole axis, which the outcomes have whole and the result has in parts
  std::vector<std::int64_t> operand_axes{};  // of each operand, the axis that is taken in panels; -1: none, or it is broadcast there
  std::int64_t result_axis = -1;             // the result's; -1: products are added up
  friend bool operator==(const Panels&, const Panels&) = default;
};

/// Local. In how many steps: as many as keep what is beside operands and result below a fifth of them (two panels at a time), at least four where much moves
/// between processes, and one where little does. On a node that shares memory panels that are blocks of other devices take no memory.
Panels choose_panels(const Mesh& mesh, const Attributes& attributes, std::span<const OperandType> operands, const Shape& result,
                     const PartitionSpec& result_spec, const ContractionStrategy& strategy, const Topology& topology);

/// Local. The same of a computation that is no contraction, but adds up what it makes of the panels, over axis 0, of an operand that every device wants whole.
Panels choose_panels_of(std::size_t operand, const Mesh& mesh, std::span<const OperandType> operands, const OperandType& result, const Topology& topology);

}  // namespace meshwise

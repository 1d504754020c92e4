#pragma once
// How devices compute a result without each other: where operands must lie first, and what is left to do afterwards.

#include <span>
#include <string>
#include <vector>

#include "meshwise/plan/propagation.hpp"

namespace meshwise {

/// Local. An operation in three steps: bring each operand to its spec here (no movement where it already lies so), run the
/// kernel on every device's own boxes, then combine over `partial_axes` and bring the outcome from `computed` to the result's spec.
///
/// float32[8@x,16@y] times float32[16@y,4] to float32[8@x,4]: operands ij @ (x, y) and jk @ (y, -), computed P("x"), partial
/// over y: device (i, j) multiplies its (2,8) block by its (8,4) block, and the devices of one x add up.
struct LocalForm {
  std::vector<PartitionSpec> operands{};   // an operand that need not move has its own spec object
  PartitionSpec computed{};                // the result's own spec object where the kernel already produces it
  std::vector<std::string> partial_axes{}; // mesh axes over which the outcomes are parts to be combined, in mesh order
  PartitionSpec combined{};                // what they are combined to: `computed`, or split over some of the partial axes as well (a reduce-scatter)
};

/// Local. Whether the rule has a local form. The others (concatenate, stack, reshape, slices, x[...], pad, flip, updates, reshard) are
/// movements of boxes, not computations.
bool has_local_form(LayoutRule rule);

/// Local. How to compute the result of shape `result` placed by `result_spec`; the same boxes whatever the shape, since parts
/// of equal lengths under equal entries are equal, uneven ones too.
///
/// elementwise, where, clip, broadcast_to: an operand's axis lies as the result's axis, or whole where it is broadcast.
/// reduce, arg_reduce: kept axes lie as the result's; reduced axes keep the operand's own entries, and are partial over them.
/// contract: the form that moves the fewest bytes (contraction.hpp).
/// take, take_along_axis: the gathered axis is whole, or, where that moves less, as it is, and the result partial over its mesh axes. worked_axis, tile: the worked
/// axis is whole in `computed` too. blockwise: operand 0 where it lies,
/// the others whole on the axes and beside it elsewhere. at_set: operand 0 where it lies, updates and indices whole.
/// Throws: Error for a rule without a local form.
LocalForm local_form(const Mesh& mesh, LayoutRule rule, const Attributes& attributes, std::span<const OperandType> operands,
                     const Shape& result, const PartitionSpec& result_spec);

}  // namespace meshwise

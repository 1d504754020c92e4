#pragma once
// Functions of several steps, a cache-sized tile at a time: no array of whole intermediate values is ever there.

#include <functional>
#include <span>
#include <vector>

#include "array/dispatch.hpp"
#include "meshwise/base/function_ref.hpp"
#include "ops/kernels/elementwise_op.hpp"

namespace meshwise::detail {

/// Local. From tiles of the operands, which broadcast together, to the tile of the result; steps by run_elementwise and run_astype.
using TileProgram = std::function<LocalArray(std::span<const LocalArray> tiles)>;

/// Local. Calls f with boxes that cover `shape`, each of whole inner axes and a run of the next.
void for_each_tile(const Shape& shape, FunctionRef<void(const Index&)> f);
/// Local. What of an operand goes with a box of `shape`, to which it broadcasts: all of an axis that is 1 long.
LocalArray beside(const LocalArray& x, const Index& box, const Shape& shape);

/// Local. Whether the result of map_tiles may take the memory of an operand: one that its caller made and drops.
enum class Memory : bool { fresh, of_an_operand };

/// Collective. The program's values for all of x, y, ... broadcast together, of `dtype`, as the operation `name`. Throws what dispatch throws.
Array map_tiles(const char* name, const std::vector<Array>& operands, Dtype dtype, const TileProgram& program, Memory memory = Memory::fresh);

/// Collective. The sum, over the axes, of the program's values (of dtype `values`) for x and `beside`, which is x's shape or 1 long; of dtype `dtype`.
Array sum_tiles(const char* name, const Array& x, const Array& beside, const std::vector<std::int64_t>& axes, bool keepdims, Dtype values, Dtype dtype,
                const TileProgram& program);

/// Local. One step of a program: an operation on tiles in the dtype `work`.
LocalArray step(const ElementwiseOp& op, Dtype work, const LocalArray& x);
LocalArray step(const ElementwiseOp& op, Dtype work, const LocalArray& x, const LocalArray& y);
/// Local. A literal of a program.
LocalArray literal(double value, Dtype dtype);

}  // namespace meshwise::detail

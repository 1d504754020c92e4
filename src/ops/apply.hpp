#pragma once
// From operands to a request: the rule of every elementwise operation (shapes, dtypes), told once.

#include <span>

#include "array/dispatch.hpp"
#include "ops/kernels/elementwise_op.hpp"

namespace meshwise::detail {

/// Collective. op over its operands, as the operation `name` in messages. Throws: ShapeError, DtypeError; what dispatch throws.
Array apply(const ElementwiseOp& op, LayoutRule rule, const char* name, std::span<const Operand> operands);

inline Array apply(const ElementwiseOp& op, const Array& x) {
  const Operand operands[] = {x};
  return apply(op, LayoutRule::unary, op.name, operands);
}
inline Array apply(const ElementwiseOp& op, const Operand& x, const Operand& y) {
  const Operand operands[] = {x, y};
  return apply(op, LayoutRule::elementwise, op.name, operands);
}

/// Local. `x: float32[8,4], y: 2`: the operands as messages show them.
std::string operands_text(std::string_view name, std::span<const Operand> operands);
/// Local. `bool, int8, int16`: the dtypes for which allowed(dtype).
template <class F>
std::string dtypes_where(F&& allowed) {
  std::string text;
  for (int i = 0; i < 15; ++i)
    if (const auto dtype = static_cast<Dtype>(i); allowed(dtype)) text.append(text.empty() ? "" : ", ").append(meshwise::name(dtype));
  return text;
}

}  // namespace meshwise::detail

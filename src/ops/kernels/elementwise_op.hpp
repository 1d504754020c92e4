#pragma once
// What an elementwise operation is to the machinery: a row of inner loops, one a dtype. Adding an operation adds one table entry.

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

#include "meshwise/array/local_array.hpp"
#include "meshwise/base/dtype.hpp"
#include "ops/kernels/elementwise_loop.hpp"
#include "ops/kernels/vector_functions.hpp"

namespace meshwise::detail {

/// Local. The dtype an operation works in, given its operands' promoted dtype (the rule of promotion vectors `unary` and `binary`).
enum class WorkRule : std::uint8_t {
  same,     // add, maximum
  numeric,  // bool becomes int32: floor_divide, pow, square
  inexact   // bool and integers become float32, 64-bit ones float64: divide, sqrt, exp
};
Dtype work_dtype(WorkRule rule, Dtype promoted);

/// Local. One dtype's loop: `compute` is what the lanes hold (float32 for the 16-bit floats), `out` what the loop writes.
struct ElementwiseSlot {
  ElementwiseLoop loop = nullptr;
  Dtype compute = Dtype::float32;
  Dtype out = Dtype::float32;
};

struct ElementwiseOp {
  const char* name = "";
  WorkRule rule = WorkRule::same;
  int arity = 0;
  bool condition = false;    // the first lane is bool, whatever the others are
  bool dense_lanes = false;  // its loops don't take single lanes
  std::array<ElementwiseSlot, 15> slots{};
  int vector_function = no_vector_function;  // whose loops stand in for those of float32 and float64, where this machine has them

  const ElementwiseSlot& slot(Dtype work) const { return slots[static_cast<std::size_t>(work)]; }
  bool allows(Dtype promoted) const { return slot(work_dtype(rule, promoted)).loop != nullptr; }
  /// Local. The result's dtype for a work dtype that has a loop.
  Dtype result_dtype(Dtype work) const {
    const auto& s = slot(work);
    return s.out == s.compute ? work : s.out;
  }
};

/// Local. op over broadcast operands of any dtypes and strides, each converted to `work` first: a dense array of `shape`.
LocalArray run_elementwise(const ElementwiseOp& op, Dtype work, std::span<const LocalArray> operands, const Shape& shape);

/// Local. The same into a dense array of the result's dtype, which no operand overlaps.
void run_elementwise_into(const ElementwiseOp& op, Dtype work, std::span<const LocalArray> operands, LocalArray& out);

/// Local. x with another dtype, dense; the 225 conversions.
LocalArray run_astype(const LocalArray& x, Dtype dtype);

namespace op {
// arithmetic.cpp
extern const ElementwiseOp add, subtract, multiply, divide, floor_divide, remainder, pow, maximum, minimum, clip, clip_below, clip_above;
extern const ElementwiseOp negative, positive, abs, sign, square, reciprocal, real, imag, conj;
// compare.cpp
extern const ElementwiseOp equal, not_equal, less, less_equal, greater, greater_equal;
extern const ElementwiseOp logical_and, logical_or, logical_xor, logical_not;
extern const ElementwiseOp bitwise_and, bitwise_or, bitwise_xor, bitwise_invert, bitwise_left_shift, bitwise_right_shift;
extern const ElementwiseOp isnan, isinf, isfinite, signbit, where;
// functions.cpp
extern const ElementwiseOp sqrt, exp, expm1, log, log1p, log2, log10;
extern const ElementwiseOp floor, ceil, round, trunc;
extern const ElementwiseOp atan2, hypot, logaddexp, copysign, nextafter;
// trigonometric.cpp
extern const ElementwiseOp sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh;
}  // namespace op

}  // namespace meshwise::detail

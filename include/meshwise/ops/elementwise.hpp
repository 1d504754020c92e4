#pragma once
// Elementwise mathematics on whole arrays, NumPy's broadcasting, JAX's dtypes (SEMANTICS 3.3, 6.1).
//
//   float32[8@data,16] + float32[16] -> float32[8@data,16]        int32[8] / 2 -> float32[8]        float16[8] * 2.5 -> float16[8]
//
// Where an Operand is taken, a C++ literal will do: it is weak and has no placement. Results do not depend on the layout, bit for bit.
// All of these throw ShapeError (shapes that do not broadcast, both named), DtypeError (a dtype the operation does not have, with those it
// has), and what dispatch throws: CommitmentError, ShardingTypeError, DonatedError.

#include <optional>

#include "meshwise/array/array.hpp"
#include "meshwise/ops/operators.hpp"

namespace meshwise {

/// Collective. Arithmetic in the operands' common dtype; integers wrap, bool adds as or and multiplies as and (subtract: DtypeError).
Array add(const Operand& x, const Operand& y);
Array subtract(const Operand& x, const Operand& y);
Array multiply(const Operand& x, const Operand& y);
/// Collective. The true quotient: integers and bool give float32, 64-bit integers float64.
Array divide(const Operand& x, const Operand& y);
/// Collective. floor(x / y), and x - y * floor(x / y) with y's sign. Integers as JAX: x / 0 rounds from -1 (all ones), x % 0 is 0, MIN / -1 is MIN.
Array floor_divide(const Operand& x, const Operand& y);
Array remainder(const Operand& x, const Operand& y);
/// Collective. x to the power y; an integer to a negative power is the quotient's integer part (0 but for bases 1 and -1).
Array pow(const Operand& x, const Operand& y);
/// Collective. The larger, the smaller; NaN where either is NaN; complex numbers compare lexicographically.
Array maximum(const Operand& x, const Operand& y);
Array minimum(const Operand& x, const Operand& y);
/// Collective. minimum(maximum(x, low), high); an absent bound does not bind.
Array clip(const Array& x, const std::optional<Operand>& low = {}, const std::optional<Operand>& high = {});
/// Collective. Of two real arguments: the angle of the point (y, x), its distance from 0, log(e^x + e^y), x with y's sign, x's neighbour towards y.
Array atan2(const Operand& y, const Operand& x);
Array hypot(const Operand& x, const Operand& y);
Array logaddexp(const Operand& x, const Operand& y);
Array copysign(const Operand& x, const Operand& y);
Array nextafter(const Operand& x, const Operand& y);

/// Collective. Comparisons -> bool, in the operands' common dtype; NaN is equal to nothing.
Array equal(const Operand& x, const Operand& y);
Array not_equal(const Operand& x, const Operand& y);
Array less(const Operand& x, const Operand& y);
Array less_equal(const Operand& x, const Operand& y);
Array greater(const Operand& x, const Operand& y);
Array greater_equal(const Operand& x, const Operand& y);
/// Collective. Truth values -> bool; what is not zero is true.
Array logical_and(const Operand& x, const Operand& y);
Array logical_or(const Operand& x, const Operand& y);
Array logical_xor(const Operand& x, const Operand& y);
Array logical_not(const Array& x);
/// Collective. Bits of integers and bool. A shift by the width or more gives 0, or the sign for a right shift of a signed integer.
Array bitwise_and(const Operand& x, const Operand& y);
Array bitwise_or(const Operand& x, const Operand& y);
Array bitwise_xor(const Operand& x, const Operand& y);
Array bitwise_invert(const Array& x);
Array bitwise_left_shift(const Operand& x, const Operand& y);
Array bitwise_right_shift(const Operand& x, const Operand& y);
/// Collective. Each element from x where the condition is true (not zero), else from y.
Array where(const Operand& condition, const Operand& x, const Operand& y);

/// Collective. x's values in another dtype: floats saturate in integers and NaN is 0, integers wrap, a complex number gives its real part. x itself when
/// it has the dtype. A recipe stays one.
Array astype(const Array& x, Dtype dtype);

/// Collective. In x's own dtype (complex: abs gives the part's).
Array negative(const Array& x);
Array positive(const Array& x);
Array abs(const Array& x);
/// Collective. -1, 0 or 1; for complex x / |x|.
Array sign(const Array& x);
Array square(const Array& x);
/// Collective. 1 / x, as divide.
Array reciprocal(const Array& x);
/// Collective. To an integer: down, up, to the nearest (ties to even), towards 0. Integers are themselves.
Array floor(const Array& x);
Array ceil(const Array& x);
Array round(const Array& x);
Array trunc(const Array& x);
/// Collective. Parts of complex numbers (of a real x: x, 0), and the conjugate.
Array real(const Array& x);
Array imag(const Array& x);
Array conj(const Array& x);
/// Collective. -> bool. signbit is true for -0 and negative NaN too.
Array isnan(const Array& x);
Array isinf(const Array& x);
Array isfinite(const Array& x);
Array signbit(const Array& x);

/// Collective. Functions of real or complex numbers; integers and bool are float32 first, 64-bit integers float64. Angles in radians.
Array sqrt(const Array& x);
Array exp(const Array& x);
Array expm1(const Array& x);
Array log(const Array& x);
Array log1p(const Array& x);
Array log2(const Array& x);
Array log10(const Array& x);
Array sin(const Array& x);
Array cos(const Array& x);
Array tan(const Array& x);
Array asin(const Array& x);
Array acos(const Array& x);
Array atan(const Array& x);
Array sinh(const Array& x);
Array cosh(const Array& x);
Array tanh(const Array& x);
Array asinh(const Array& x);
Array acosh(const Array& x);
Array atanh(const Array& x);

}  // namespace meshwise

#pragma once
// Arithmetic spelled as arithmetic. Either side may be a C++ literal: `1 / x`, `x * 2.5f`. && and || stay C++'s: an Array has no truth of its own,
// `all(x == y).item<bool>()` does.

#include "meshwise/array/array.hpp"

namespace meshwise {

/// Collective. Operators are add, subtract, multiply, divide, remainder, negative, positive; see ops/elementwise.hpp for shapes, dtypes and errors.
Array operator+(const Operand& x, const Operand& y);
Array operator-(const Operand& x, const Operand& y);
Array operator*(const Operand& x, const Operand& y);
Array operator/(const Operand& x, const Operand& y);
Array operator%(const Operand& x, const Operand& y);
Array operator-(const Array& x);
Array operator+(const Array& x);
/// Collective. Comparisons are elementwise, to bool.
Array operator==(const Operand& x, const Operand& y);
Array operator!=(const Operand& x, const Operand& y);
Array operator<(const Operand& x, const Operand& y);
Array operator<=(const Operand& x, const Operand& y);
Array operator>(const Operand& x, const Operand& y);
Array operator>=(const Operand& x, const Operand& y);
/// Collective. Bits: bitwise_and, bitwise_or, bitwise_xor, bitwise_invert and the shifts. On bool they are logic.
Array operator&(const Operand& x, const Operand& y);
Array operator|(const Operand& x, const Operand& y);
Array operator^(const Operand& x, const Operand& y);
Array operator<<(const Operand& x, const Operand& y);
Array operator>>(const Operand& x, const Operand& y);
Array operator~(const Array& x);

}  // namespace meshwise

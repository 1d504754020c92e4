#include "meshwise/ops/operators.hpp"

#include "meshwise/ops/elementwise.hpp"

namespace meshwise {

Array operator+(const Operand& x, const Operand& y) { return add(x, y); }
Array operator-(const Operand& x, const Operand& y) { return subtract(x, y); }
Array operator*(const Operand& x, const Operand& y) { return multiply(x, y); }
Array operator/(const Operand& x, const Operand& y) { return divide(x, y); }
Array operator%(const Operand& x, const Operand& y) { return remainder(x, y); }
Array operator==(const Operand& x, const Operand& y) { return equal(x, y); }
Array operator!=(const Operand& x, const Operand& y) { return not_equal(x, y); }
Array operator<(const Operand& x, const Operand& y) { return less(x, y); }
Array operator<=(const Operand& x, const Operand& y) { return less_equal(x, y); }
Array operator>(const Operand& x, const Operand& y) { return greater(x, y); }
Array operator>=(const Operand& x, const Operand& y) { return greater_equal(x, y); }
Array operator&(const Operand& x, const Operand& y) { return bitwise_and(x, y); }
Array operator|(const Operand& x, const Operand& y) { return bitwise_or(x, y); }
Array operator^(const Operand& x, const Operand& y) { return bitwise_xor(x, y); }
Array operator<<(const Operand& x, const Operand& y) { return bitwise_left_shift(x, y); }
Array operator>>(const Operand& x, const Operand& y) { return bitwise_right_shift(x, y); }
Array operator-(const Array& x) { return negative(x); }
Array operator+(const Array& x) { return positive(x); }
Array operator~(const Array& x) { return bitwise_invert(x); }

}  // namespace meshwise

#pragma once
// The dtype that operands have together.

#include <initializer_list>
#include <variant>

#include "meshwise/array/array.hpp"
#include "meshwise/base/dtype_info.hpp"

namespace meshwise {

/// Local. What has a dtype: an array, a dtype, or a C++ literal, which is weak.
class TypeOperand {
 public:
  TypeOperand(Dtype dtype) : value_(dtype) {}
  template <std::convertible_to<Operand> T>
  TypeOperand(const T& operand) : value_(Operand(operand)) {}
  const std::variant<Dtype, Operand>& value() const { return value_; }

 private:
  std::variant<Dtype, Operand> value_;
};

/// Local. The dtype in which an operation would take them: arrays and dtypes promote among themselves, then each literal beside what there is. Throws: DtypeError for none.
Dtype result_type(std::initializer_list<TypeOperand> operands);
template <class... T>
Dtype result_type(const T&... operands) {
  return result_type({TypeOperand(operands)...});
}

/// Local. The same of x's dtype.
inline bool can_cast(const Array& x, Dtype to) { return can_cast(x.dtype(), to); }

}  // namespace meshwise

#include "meshwise/ops/result_type.hpp"

#include <optional>

#include "meshwise/base/error.hpp"

namespace meshwise {

Dtype result_type(std::initializer_list<TypeOperand> operands) {
  std::optional<Dtype> dtype;
  for (const auto& operand : operands) {
    const auto* given = std::get_if<Dtype>(&operand.value());
    const auto* x = given == nullptr ? std::get<Operand>(operand.value()).array() : nullptr;
    if (given == nullptr && x == nullptr) continue;
    const auto next = given != nullptr ? *given : x->dtype();
    dtype = dtype ? promote_types(*dtype, next) : next;
  }
  for (const auto& operand : operands)
    if (const auto* other = std::get_if<Operand>(&operand.value()))
      if (const auto* literal = other->scalar()) dtype = dtype ? literal->beside(*dtype) : literal->default_dtype();
  if (!dtype) throw DtypeError("result_type: no operands; it takes at least one array, dtype or literal");
  return *dtype;
}

}  // namespace meshwise

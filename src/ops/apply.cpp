#include "ops/apply.hpp"

#include <fmt/format.h>

#include "meshwise/array/create.hpp"

namespace meshwise::detail {

namespace {

/// Arrays first, among themselves; then literals, each beside what there is.
Dtype promoted(std::span<const Operand> operands) {
  bool any = false;
  Dtype dtype{};
  for (const auto& operand : operands)
    if (const auto* x = operand.array()) {
      dtype = any ? promote_types(dtype, x->dtype()) : x->dtype();
      any = true;
    }
  for (const auto& operand : operands)
    if (const auto* literal = operand.scalar()) {
      dtype = any ? literal->beside(dtype) : literal->default_dtype();
      any = true;
    }
  return dtype;
}

Shape common_shape(std::span<const Operand> operands, const char* name) {
  const Array* first = nullptr;
  bool alike = true;
  for (const auto& operand : operands)
    if (const auto* x = operand.array()) {
      if (first == nullptr)
        first = x;
      else
        alike = alike && x->shape() == first->shape();
    }
  if (alike) return first->shape();
  Shape shape;
  for (const auto& operand : operands)
    if (const auto* x = operand.array()) shape = broadcast_shapes(shape, x->shape(), name);
  return shape;
}

std::string literal_text(const Scalar& literal) {
  switch (literal.kind()) {
    case Scalar::Kind::boolean:
      return literal.integer() != 0 ? "true" : "false";
    case Scalar::Kind::integer:
      return literal.is_unsigned() ? fmt::format("{}", static_cast<std::uint64_t>(literal.integer()))
                                   : fmt::format("{}", literal.integer());
    case Scalar::Kind::floating:
      return fmt::format("{}", literal.real());
    default:
      return fmt::format("({}, {})", literal.real(), literal.imag());
  }
}

[[noreturn]] void refuse_dtype(const ElementwiseOp& op, const char* name, std::span<const Operand> operands, Dtype dtype) {
  throw DtypeError(fmt::format("{}: not defined for {} ({}); it takes {}. Convert with astype", name, meshwise::name(dtype),
                               operands_text(name, operands), dtypes_where([&](Dtype d) { return op.allows(d); })));
}

}  // namespace

std::string operands_text(std::string_view name, std::span<const Operand> operands) {
  std::string text;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto* x = operands[i].array();
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", argument_name(name, i, operands.size()),
                        x != nullptr ? type_string(x->dtype(), x->shape()) : literal_text(*operands[i].scalar()));
  }
  return text;
}

Array apply(const ElementwiseOp& op, LayoutRule rule, const char* name, std::span<const Operand> operands) {
  bool any_array = false;
  for (const auto& operand : operands) any_array = any_array || operand.array() != nullptr;
  if (!any_array) {
    std::vector<Operand> arrays;
    for (const auto& operand : operands) arrays.emplace_back(asarray(*operand.scalar()));
    return apply(op, rule, name, arrays);
  }
  const auto values = op.condition ? operands.subspan(1) : operands;
  const auto dtype = promoted(values);
  if (!op.allows(dtype)) refuse_dtype(op, name, operands, dtype);

  Request request;
  request.operation = name;
  request.rule = rule;
  request.operands = operands;
  request.literal_dtype = work_dtype(op.rule, dtype);
  request.shape = common_shape(operands, name);
  request.dtype = op.result_dtype(request.literal_dtype);
  request.kernel = [op = &op, work = request.literal_dtype](std::span<const LocalArray> inputs, const KernelContext& context) {
    // Blocks broadcast among themselves as the whole arrays do, also where a part is empty.
    return run_elementwise(*op, work, inputs, context.result_box.shape());
  };
  request.tiling = Tiling::map;
  request.into = [op = &op, work = request.literal_dtype](std::span<const LocalArray> inputs, LocalArray& out) {
    run_elementwise_into(*op, work, inputs, out);
  };
  return dispatch(request);
}

}  // namespace meshwise::detail

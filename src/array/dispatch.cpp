#include "array/dispatch.hpp"

#include "array/execution.hpp"
#include "array/negotiate.hpp"
#include "array/panels.hpp"
#include "array/rehearsal.hpp"
#include "meshwise/runtime/watch.hpp"

namespace meshwise::detail {

namespace {

/// A literal that does not fit is everybody's error; what follows may be one rank's.
void check_literals(const Request& request) {
  alignas(16) std::byte value[16];
  for (const auto& operand : request.operands)
    if (operand.array() == nullptr) operand.scalar()->store(request.literal_dtype, value);
}

/// Every process computes the whole: no operand is committed.
Array compute_everywhere(const Request& request) {
  std::vector<LocalArray> inputs;
  std::vector<Index> boxes;
  for (const auto& operand : request.operands) {
    const auto* x = operand.array();
    boxes.push_back(x != nullptr ? Index::whole(x->shape()) : Index{});
    inputs.push_back(x != nullptr ? uncommitted_box(*x, boxes.back()) : literal_block(request, operand));
  }
  const auto whole = Index::whole(request.shape);
  auto value = request.kernel(inputs, {whole, boxes});
  if (request.reduction && request.reduction->finish) value = request.reduction->finish(value);
  return make_everywhere_array(std::move(value));
}

}  // namespace

Array dispatch(const Request& request) {
  const auto negotiated = negotiate(request);
  check_literals(request);
  if (rehearsing()) return rehearse(request, negotiated);
  if (negotiated.layout == nullptr) {
    if (request.as_recipe && all_recipes(request)) return make_recipe_array(request.as_recipe(request.operands[0].array()->state()->recipe));
    Array result;
    run_local_part(request.operation, [&] { result = compute_everywhere(request); });
    return result;
  }
  return execute(request, negotiated);
}

}  // namespace meshwise::detail

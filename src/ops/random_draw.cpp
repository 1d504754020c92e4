#include "ops/random_draw.hpp"

#include <fmt/format.h>

#include <array>

#include "array/dispatch.hpp"
#include "array/rehearsal.hpp"
#include "meshwise/plan/propagation.hpp"
#include "meshwise/runtime/watch.hpp"

namespace meshwise::detail {
namespace {

Array dispatch_draw(std::string_view operation, const Array& key, const Shape& shape, Dtype dtype, std::uint64_t parameters,
                    Kernel kernel) {
  const std::array<Operand, 1> operands = {key};
  Request request;
  request.operation = operation;
  request.rule = LayoutRule::whole;
  request.operands = operands;
  request.shape = shape;
  request.dtype = dtype;
  request.kernel = std::move(kernel);
  request.salt = parameters;
  return dispatch(request);
}

}  // namespace

void check_key(const Array& key, std::string_view operation) {
  check_alive(key, operation, "key");
  const auto cure = "a key is uint32[2]: make one with random::key(seed), or take one of random::split's: keys[i]";
  if (key.dtype() != Dtype::uint32) throw DtypeError(fmt::format("{}: the key is {}; {}", operation, type_string(key), cure));
  if (key.shape() != Shape{2}) throw ShapeError(fmt::format("{}: the key is {}; {}", operation, type_string(key), cure));
}

KeyWords read_key(const LocalArray& key) {
  const auto words = key.view<std::uint32_t>();
  return {words[0], words[1]};
}

KeyWords uncommitted_key(const Array& key) { return read_key(uncommitted_box(key, Index::whole(key.shape()))); }

Array draw(std::string_view operation, const Array& key, const Shape& shape, Dtype dtype, std::uint64_t parameters,
           const GeneratorOf& generator) {
  check_key(key, operation);
  shape.num_elements();  // throws where the shape is none
  if (rehearsing() && !key.committed()) {
    HeardCall call;
    call.words.head = fmt::format("{}: {} -> {}", operation, type_string(key), type_string(dtype, shape));
    call.operands = {key};
    call.replay = [=](std::span<const Operand> operands) { return draw(operation, *operands[0].array(), shape, dtype, parameters, generator); };
    call.shape = shape;
    call.dtype = dtype;
    return rehearse_call(std::move(call));
  }
  if (key.committed())
    return dispatch_draw(operation, key, shape, dtype, parameters,
                         [generator, shape](std::span<const LocalArray> inputs, const KernelContext& context) {
                           return Recipe::over(generator(read_key(inputs[0])), shape).make(context.result_box);
                         });
  auto recipe = Recipe::over(generator(uncommitted_key(key)), shape);
  enter_world_call({operation, mix(hash_text(operation), recipe.hash()), dtype, &shape});
  return make_recipe_array(std::move(recipe));
}

Array draw_whole(std::string_view operation, const Array& key, const Shape& shape, Dtype dtype, std::uint64_t parameters,
                 const std::function<LocalArray(KeyWords key)>& values) {
  check_key(key, operation);
  return dispatch_draw(operation, key, shape, dtype, parameters,
                       [values](std::span<const LocalArray> inputs, const KernelContext&) { return values(read_key(inputs[0])); });
}

}  // namespace meshwise::detail

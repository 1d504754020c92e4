#include "array/rehearsal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/generators.hpp"
#include "base/bytes_text.hpp"
#include "meshwise/plan/propagation.hpp"

namespace meshwise::detail {

namespace {

Rehearsal* listener = nullptr;

std::string size_text(std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

std::string operand_type(const Operand& operand) { return operand.array() != nullptr ? type_string(*operand.array()) : "a literal"; }

RehearsedCall call_of(const Request& request, const Layout* layout) {
  RehearsedCall call;
  call.head = fmt::format("{}: ", request.operation);
  for (std::size_t i = 0; i < request.operands.size(); ++i) call.head += (i == 0 ? "" : ", ") + operand_type(request.operands[i]);
  call.head += " -> " + (layout != nullptr ? type_string(request.dtype, request.shape, layout->result.spec())
                                           : type_string(request.dtype, request.shape));
  return call;
}

void add_step(RehearsedCall& call, const std::string& what, std::int64_t bytes) {
  if (bytes == 0) return;
  call.bytes += bytes;
  call.steps.push_back(fmt::format("{}: {}", what, size_text(bytes)));
}

Array without_values(const Request& request, const Layout* layout) {
  if (layout == nullptr) return make_recipe_array(constant_recipe(request.shape, 0, request.dtype));
  return make_sharded_array(request.shape, request.dtype, layout->result, true, {});
}

std::string axes_text(const std::vector<std::string>& axes) { return fmt::format("{}", fmt::join(axes, ", ")); }

void add_computation(RehearsedCall& call, const Request& request, const Layout& layout) {
  const auto& how = *layout.computation;
  for (std::size_t i = 0; i < request.operands.size(); ++i) {
    const auto* x = request.operands[i].array();
    if (x == nullptr || !x->committed()) continue;
    const auto& want = *how.operands[i];
    add_step(call, fmt::format("{} to {}", argument_name(request.operation, i, request.operands.size()), to_string(want.spec())),
             elements_brought(x->shape(), x->sharding(), want) * x->itemsize());
  }
  if (request.reduction && how.scattered.parts * how.summed.parts > 1) {
    const auto item = request.reduction->itemsize != 0 ? request.reduction->itemsize : itemsize(request.reduction->partials);
    const auto bytes = request.shape.num_elements() * how.computed.replicas().parts * static_cast<std::int64_t>(item);
    const auto s = how.scattered.parts, r = how.summed.parts;
    add_step(call, fmt::format("parts over {} combined, each where it is wanted", axes_text(how.scattered_axes)), bytes * (s - 1) / s);
    add_step(call, fmt::format("parts over {} combined, to all of them", axes_text(how.summed_axes)), 2 * (bytes / s) * (r - 1) / r);
  }
  add_step(call, fmt::format("result to {}", to_string(layout.result.spec())),
           elements_brought(request.shape, how.combined, layout.result) * static_cast<std::int64_t>(itemsize(request.dtype)));
  if (how.panels.count > 1 && how.panels.letter == '\0')
    call.steps.push_back(fmt::format("in {} panels", how.panels.count));
  else if (how.panels.count > 1)
    call.steps.push_back(fmt::format("in {} panels of {} axis '{}'", how.panels.count,
                                     how.panels.result_axis < 0 ? "the contracted" : "the result's", how.panels.letter));
  if (how.repeats > 1) call.steps.push_back(fmt::format("each product on {} devices", how.repeats));
}

}  // namespace

Rehearsal::Rehearsal() : outer_(listener) { listener = this; }
Rehearsal::~Rehearsal() { listener = outer_; }

Array rehearse(const Request& request, const Negotiated& negotiated) {
  auto call = call_of(request, negotiated.layout.get());
  if (negotiated.layout != nullptr) add_computation(call, request, *negotiated.layout);
  listener->add(std::move(call));
  return without_values(request, negotiated.layout.get());
}

std::int64_t bytes_between_devices(const Movement& movement, std::int64_t itemsize) {
  std::int64_t elements = 0;
  for (const auto device : movement.target.sharding.devices())
    for (const auto& piece : plan_device(movement, {}, device).receives)
      if (piece.source.id != piece.target.id) elements += piece.box.num_elements();
  return elements * itemsize;
}

Array rehearse_moves(const Request& request, std::span<const RegionMove> moves, const Negotiated& negotiated) {
  auto call = call_of(request, negotiated.layout.get());
  if (negotiated.layout != nullptr)
    for (const auto& move : moves) {
      const auto& x = *request.operands[move.operand].array();
      if (!x.committed()) continue;
      const auto movement = movement_of(move, request, negotiated.layout->result);
      add_step(call, fmt::format("{} to its place", argument_name(request.operation, move.operand, request.operands.size())),
               bytes_between_devices(movement, x.itemsize()));
    }
  listener->add(std::move(call));
  return without_values(request, negotiated.layout.get());
}

Array rehearse_put(const Array& x, const Sharding& target, std::string_view operation) {
  RehearsedCall call;
  call.head = fmt::format("{}: {} -> {}", operation, type_string(x), type_string(x.dtype(), x.shape(), target.spec()));
  if (x.committed()) add_step(call, "x to its new place", elements_brought(x.shape(), x.sharding(), target) * x.itemsize());
  listener->add(std::move(call));
  return make_sharded_array(x.shape(), x.dtype(), target, true, {});
}

Array rehearse_counted(const Request& request, const Negotiated& negotiated, const std::string& what, std::int64_t bytes) {
  auto call = call_of(request, negotiated.layout.get());
  add_step(call, what, bytes);
  listener->add(std::move(call));
  return without_values(request, negotiated.layout.get());
}

}  // namespace meshwise::detail

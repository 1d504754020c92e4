#include "array/rehearsal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "array/generators.hpp"
#include "base/bytes_text.hpp"
#include "meshwise/plan/propagation.hpp"

namespace meshwise::detail {

namespace {

Listener* listener = nullptr;

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

Array heard(RehearsedCall words, const Request& request, const Layout* layout, Make make) {
  HeardCall call{std::move(words)};
  call.shape = request.shape;
  call.dtype = request.dtype;
  if (layout != nullptr) call.sharding = layout->result;
  if (listener->wants_replays()) {
    call.operands.assign(request.operands.begin(), request.operands.end());
    call.request = std::make_shared<Request>(request);
    call.request->operands = {};
    call.replay = replay_of(call.request, std::move(make));
  }
  return listener->hear(std::move(call));
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

Listener::Listener(std::string_view who, bool wants_replays) : scope_(who), outer_(std::exchange(listener, this)), wants_replays_(wants_replays) {}
Listener::~Listener() { listener = outer_; }

Array Rehearsal::hear(HeardCall call) {
  calls_.push_back(std::move(call.words));
  if (!call.sharding) return make_recipe_array(constant_recipe(call.shape, 0, call.dtype));
  return make_sharded_array(call.shape, call.dtype, *call.sharding, true, {});
}

Replay replay_of(std::shared_ptr<Request> request, Make make) {
  return [request = std::move(request), make = std::move(make)](std::span<const Operand> operands) {
    request->operands = operands;
    return make(*request);
  };
}

Array rehearse(const Request& request, const Negotiated& negotiated) {
  auto call = call_of(request, negotiated.layout.get());
  if (negotiated.layout != nullptr) add_computation(call, request, *negotiated.layout);
  return heard(std::move(call), request, negotiated.layout.get(), dispatch);
}

std::int64_t bytes_between_devices(const Movement& movement, std::int64_t itemsize) {
  std::int64_t elements = 0;
  for (const auto device : movement.target.sharding.devices())
    for (const auto& piece : plan_device(movement, {}, device).receives)
      if (piece.source.id != piece.target.id) elements += piece.box.num_elements();
  return elements * itemsize;
}

Array rehearse_moves(const Request& request, std::span<const RegionMove> moves, const Scalar& fill, const Negotiated& negotiated) {
  auto call = call_of(request, negotiated.layout.get());
  if (negotiated.layout != nullptr)
    for (const auto& move : moves) {
      const auto& x = *request.operands[move.operand].array();
      if (!x.committed()) continue;
      const auto movement = movement_of(move, request, negotiated.layout->result);
      add_step(call, fmt::format("{} to its place", argument_name(request.operation, move.operand, request.operands.size())),
               bytes_between_devices(movement, x.itemsize()));
    }
  return heard(std::move(call), request, negotiated.layout.get(),
               [kept = std::vector<RegionMove>(moves.begin(), moves.end()), fill](const Request& again) { return dispatch_moves(again, kept, fill); });
}

Array rehearse_put(const Array& x, const Sharding& target, std::string_view operation, Replay replay, std::string where) {
  HeardCall call;
  call.words.head = fmt::format("{}: {} -> {}", operation, type_string(x), type_string(x.dtype(), x.shape(), target.spec()));
  if (x.committed()) add_step(call.words, "x to its new place", elements_brought(x.shape(), x.sharding(), target) * x.itemsize());
  call.operands = {x};
  call.replay = std::move(replay);
  call.where = std::move(where);
  call.target = call.sharding = target;
  call.shape = x.shape();
  call.dtype = x.dtype();
  return listener->hear(std::move(call));
}

Array rehearse_counted(const Request& request, const Negotiated& negotiated, const std::string& what, std::int64_t bytes, Make make) {
  auto call = call_of(request, negotiated.layout.get());
  add_step(call, what, bytes);
  return heard(std::move(call), request, negotiated.layout.get(), std::move(make));
}

Array rehearse_call(HeardCall call) { return listener->hear(std::move(call)); }

}  // namespace meshwise::detail

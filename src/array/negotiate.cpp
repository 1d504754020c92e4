#include "array/negotiate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "array/call.hpp"
#include "array/place.hpp"
#include "meshwise/runtime/environment.hpp"

namespace meshwise::detail {

namespace {

/// What must agree between ranks: the layout's metadata, and the operation's name, dtype, literals and further attributes.
std::uint64_t hash_request(const Request& request, std::uint64_t layout) {
  std::uint64_t h = mix(layout, hash_text(request.operation));
  h = mix(mix(h, static_cast<std::uint64_t>(request.dtype)), request.salt);
  for (const auto& operand : request.operands)
    if (const auto* literal = operand.scalar())
      h = mix(mix(h, static_cast<std::uint64_t>(literal->integer())), mix(std::bit_cast<std::uint64_t>(literal->real()), std::bit_cast<std::uint64_t>(literal->imag())));
  return h;
}

/// `float32[8@data,16]` where the sharding is part of the type, `float32[8,16]` elsewhere.
std::string operand_type(const Array& x) {
  return x.sharding().mesh().is_explicit() ? type_string(x) : type_string(x.dtype(), x.shape());
}

std::string operand_words(const Request& request, std::size_t i) {
  const auto& x = *request.operands[i].array();
  const auto place = x.sharding().is_single_device() ? std::string{} : fmt::format(" and spec {} on {}", to_string(x.sharding().spec()), to_string(x.sharding().mesh()));
  return fmt::format("argument {} of {} with type {}{} and with device ids {} on platform CPU", argument_name(request.operation, i, request.operands.size()),
                     request.operation, operand_type(x), place, to_string(x.sharding().devices()));
}

[[noreturn]] void refuse_devices(const Request& request, std::size_t first, std::size_t second) {
  const auto& a = request.operands[first].array()->sharding().devices();
  const auto& b = request.operands[second].array()->sharding().devices();
  auto ids_a = a.ids(), ids_b = b.ids();
  std::sort(ids_a.begin(), ids_a.end());
  std::sort(ids_b.begin(), ids_b.end());
  const auto* order = ids_a == ids_b ? " The devices are the same in another order, and order matters: the same spec gives each device other data." : "";
  const auto x = argument_name(request.operation, first, request.operands.size()), y = argument_name(request.operation, second, request.operands.size());
  throw CommitmentError(fmt::format("{}: received incompatible devices. Got {} and {}.{} Layouts negotiate, device sets do not: move one of them on purpose, "
                                    "device_put({}, {}.sharding()).",
                                    request.operation, operand_words(request, first), operand_words(request, second), order, y, x));
}

/// Explicit meshes are part of the operands' types: where one is Explicit, sizes, names and types of all must agree, whatever the devices.
void check_mesh_types(const Request& request, std::span<const std::size_t> committed) {
  const auto mesh_of = [&](std::size_t i) -> const Mesh& { return request.operands[i].array()->sharding().mesh(); };
  const auto first = std::find_if(committed.begin(), committed.end(), [&](std::size_t i) { return mesh_of(i).is_explicit(); });
  if (first == committed.end()) return;
  const auto& want = mesh_of(*first);
  for (const auto i : committed) {
    const auto& mesh = mesh_of(i);
    if (mesh == want || request.operands[i].array()->sharding().is_single_device()) continue;
    if (mesh.axis_sizes() != want.axis_sizes() || mesh.axis_names() != want.axis_names() || mesh.axis_types() != want.axis_types())
      throw ShardingTypeError(fmt::format("{}: operands with Explicit axes need equal meshes. Got {} and {}. Use device_put to bring one of them to the other's mesh.",
                                          request.operation, operand_words(request, std::min(*first, i)), operand_words(request, std::max(*first, i))));
  }
}

/// The operand whose layout is the result's where they can't be merged: that with most tiles, the first of equals; and the operands as seen from its mesh.
std::pair<std::size_t, std::vector<OperandType>> types_on_one_mesh(const Request& request, std::span<const std::size_t> committed) {
  const auto sharding = [&](std::size_t i) -> const Sharding& { return request.operands[i].array()->sharding(); };
  std::size_t leader = committed[0];
  bool one_mesh = true;
  for (const auto i : committed) {
    const auto& mesh = sharding(i).mesh();
    if (mesh == sharding(leader).mesh()) continue;
    if (mesh.is_explicit() && sharding(leader).mesh().is_explicit()) continue;  // equal types, other devices: refused later, after the sharding types
    one_mesh = false;
    if (tiles(mesh, sharding(i).spec()) > tiles(sharding(leader).mesh(), sharding(leader).spec())) leader = i;
  }
  std::vector<OperandType> types;
  types.reserve(request.operands.size());
  for (const auto& operand : request.operands) {
    const auto* x = operand.array();
    if (x == nullptr) types.push_back({Shape{}, request.literal_dtype, PartitionSpec{}});
    else if (x->committed() && (one_mesh || x->sharding().mesh() == sharding(leader).mesh())) types.push_back({x->shape(), x->dtype(), x->sharding().spec()});
    else types.push_back({x->shape(), x->dtype(), PartitionSpec{}});
  }
  return {leader, std::move(types)};
}

}  // namespace

std::string argument_name(std::string_view operation, std::size_t operand, std::size_t count) {
  if (operation == "concatenate" || operation == "concat" || operation == "stack") return fmt::format("args[{}]", operand);
  if (operation == "where" && count == 3) return operand == 0 ? "condition" : operand == 1 ? "x" : "y";
  if (operand < 2) return operand == 0 ? "x" : "y";
  return fmt::format("args[{}]", operand);
}

bool all_recipes(const Request& request) {
  for (const auto& operand : request.operands) {
    const auto* x = operand.array();
    if (x == nullptr || x->state()->kind != State::Kind::recipe) return false;
  }
  return true;
}

Negotiated negotiate(const Request& request) {
  std::array<std::size_t, 8> small{};
  std::vector<std::size_t> large;
  std::size_t count = 0;
  for (std::size_t i = 0; i < request.operands.size(); ++i)
    if (const auto* x = request.operands[i].array(); x != nullptr && x->committed()) {
      if (count < small.size()) small[count] = i;
      if (count == small.size()) large.assign(small.begin(), small.end());
      if (count >= small.size()) large.push_back(i);
      ++count;
    }
  const std::span<const std::size_t> committed = large.empty() ? std::span<const std::size_t>(small.data(), count) : std::span<const std::size_t>(large);
  const auto sharding = [&](std::size_t i) -> const Sharding& { return request.operands[i].array()->sharding(); };

  const Array* any = nullptr;
  for (const auto& operand : request.operands)
    if (any == nullptr) any = operand.array();
  const auto hash = hash_layout(request);
  const Call call{request.operation, hash_request(request, hash), any != nullptr ? any->dtype() : request.dtype, any != nullptr ? &any->shape() : &request.shape};
  std::size_t other = 0;  // the first committed operand on other devices, if any
  for (const auto i : committed)
    if (other == 0 && !(sharding(i).devices() == sharding(committed[0]).devices())) other = i;

  Negotiated out;
  if (rehearsing()) check_running("explain");
  else if (committed.empty()) out.ticket = enter_world_call(call);
  else if (other == 0) out.ticket = enter_call(call, {&sharding(committed[0]).devices()});
  else out.ticket = enter_call(call, {&sharding(committed[0]).devices(), &sharding(other).devices()});
  for (std::size_t i = 0; i < request.operands.size(); ++i)
    if (const auto* x = request.operands[i].array(); x != nullptr && (!x->state()->deleted_by.empty() || x->state()->kind == State::Kind::traced))
      check_alive(*x, request.operation, argument_name(request.operation, i, request.operands.size()));
  if (committed.empty()) return out;
  if (other == 0) out.layout = remembered_layout(request, hash);
  if (out.layout == nullptr) {
    check_mesh_types(request, committed);
    const auto [leader, types] = types_on_one_mesh(request, committed);
    const auto& like = sharding(leader);
    if (other != 0) {
      if (like.mesh().is_explicit()) propagate(like.mesh(), request.rule, request.operation, request.attributes, types, request.shape);
      refuse_devices(request, committed[0], other);
    }
    out.layout = decide_layout(request, hash, like, types);
  }
  check_room(request.operation, request.dtype, request.shape, out.layout->result);
  return out;
}

}  // namespace meshwise::detail

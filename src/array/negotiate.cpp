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

std::uint64_t hash_request(const Request& request) {
  std::uint64_t h = mix(hash_text(request.operation), hash_shape(request.shape));
  h = mix(mix(h, static_cast<std::uint64_t>(request.dtype)), request.salt);
  const auto& a = request.attributes;
  for (const auto axis : a.axes) h = mix(h, static_cast<std::uint64_t>(axis));
  h = mix(h, hash_text(a.subscripts) + (a.keepdims ? 1 : 0));
  for (const auto& item : a.items)
    for (const auto n : {static_cast<std::int64_t>(item.kind), item.start, item.stop, item.step}) h = mix(h, static_cast<std::uint64_t>(n));
  for (const auto& operand : request.operands) {
    if (const auto* x = operand.array()) {
      h = mix(h, hash_type(*x));
    } else {
      const auto* literal = operand.scalar();
      h = mix(mix(h, static_cast<std::uint64_t>(literal->integer())), mix(std::bit_cast<std::uint64_t>(literal->real()), std::bit_cast<std::uint64_t>(literal->imag())));
    }
  }
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

/// The commonest case by far, and the one whose cost shows: an elementwise operation on arrays of one shape under one sharding.
bool is_aligned(const Request& request, std::span<const std::size_t> committed) {
  if (request.rule != LayoutRule::unary && request.rule != LayoutRule::elementwise && request.rule != LayoutRule::where && request.rule != LayoutRule::clip) return false;
  const auto& first = *request.operands[committed[0]].array();
  if (!(first.shape() == request.shape) || (first.sharding().mesh().is_explicit() && first.sharding().spec().size() != first.ndim())) return false;
  return std::all_of(request.operands.begin(), request.operands.end(), [&](const Operand& operand) {
    const auto* x = operand.array();
    return x == nullptr || (x->committed() && x->sharding() == first.sharding() && x->shape() == request.shape);
  });
}

}  // namespace

std::string argument_name(std::string_view operation, std::size_t operand, std::size_t count) {
  if (operation == "concatenate" || operation == "concat" || operation == "stack") return fmt::format("args[{}]", operand);
  if (operation == "where" && count == 3) return operand == 0 ? "condition" : operand == 1 ? "x" : "y";
  if (operand < 2) return operand == 0 ? "x" : "y";
  return fmt::format("args[{}]", operand);
}

Sharding Negotiated::on_mesh(const PartitionSpec& spec, const Sharding& like) const {
  if (like.mesh() == *mesh && like.spec() == spec) return like;
  if (result && result->spec() == spec) return *result;
  return NamedSharding(*mesh, spec);
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
  const Call call{request.operation, hash_request(request), any != nullptr ? any->dtype() : request.dtype, any != nullptr ? &any->shape() : &request.shape};
  std::size_t other = 0;  // the first committed operand on other devices, if any
  for (const auto i : committed)
    if (other == 0 && !(sharding(i).devices() == sharding(committed[0]).devices())) other = i;

  Negotiated out;
  if (committed.empty()) out.ticket = enter_world_call(call);
  else if (other == 0) out.ticket = enter_call(call, {&sharding(committed[0]).devices()});
  else out.ticket = enter_call(call, {&sharding(committed[0]).devices(), &sharding(other).devices()});
  for (std::size_t i = 0; i < request.operands.size(); ++i)
    if (const auto* x = request.operands[i].array(); x != nullptr && !x->state()->deleted_by.empty())
      check_alive(*x, request.operation, argument_name(request.operation, i, request.operands.size()));
  if (committed.empty()) return out;
  if (is_aligned(request, committed)) {
    out.aligned = true;
    out.result = sharding(committed[0]);
    check_room(request.operation, request.dtype, request.shape, *out.result);
    return out;
  }
  check_mesh_types(request, committed);

  // Layouts merge only on equal meshes; between others the operand with most tiles decides, the first of equals.
  std::size_t leader = committed[0];
  bool one_mesh = true;
  for (const auto i : committed) {
    const auto& mesh = sharding(i).mesh();
    if (mesh == sharding(leader).mesh()) continue;
    if (mesh.is_explicit() && sharding(leader).mesh().is_explicit()) continue;  // equal types, other devices: refused below, after the sharding types
    one_mesh = false;
    if (tiles(mesh, sharding(i).spec()) > tiles(sharding(leader).mesh(), sharding(leader).spec())) leader = i;
  }
  out.mesh = sharding(leader).mesh();
  out.types.reserve(request.operands.size());
  for (const auto& operand : request.operands) {
    const auto* x = operand.array();
    if (x == nullptr) {
      out.types.push_back({Shape{}, request.literal_dtype, PartitionSpec{}});
    } else if (x->committed() && (one_mesh || x->sharding().mesh() == *out.mesh)) {
      out.types.push_back({x->shape(), x->dtype(), x->sharding().spec()});
    } else {
      out.types.push_back({x->shape(), x->dtype(), PartitionSpec{}});
    }
  }
  if (other != 0 && !out.mesh->is_explicit()) refuse_devices(request, committed[0], other);
  const auto spec = propagate(*out.mesh, request.rule, request.operation, request.attributes, out.types, request.shape);
  if (other != 0) refuse_devices(request, committed[0], other);
  out.result = sharding(leader).spec() == spec ? sharding(leader) : Sharding(NamedSharding(*out.mesh, spec));
  check_room(request.operation, request.dtype, request.shape, *out.result);
  return out;
}

}  // namespace meshwise::detail

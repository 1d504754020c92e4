#include "array/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/call.hpp"
#include "array/move.hpp"
#include "array/recent.hpp"
#include "meshwise/runtime/node.hpp"

namespace meshwise::detail {

namespace {

/// The request's metadata, kept: what must be equal for its layout to be.
struct Key {
  struct Operand {
    std::optional<Sharding> sharding{};  // of a committed array
    std::optional<Shape> shape{};        // of an array
    Dtype dtype = Dtype::float32;
  };
  LayoutRule rule;
  Attributes attributes;
  Shape shape;
  std::vector<Operand> operands;
};

Key key_of(const Request& request) {
  Key key{request.rule, request.attributes, request.shape, {}};
  for (const auto& operand : request.operands) {
    auto& kept = key.operands.emplace_back();
    const auto* x = operand.array();
    if (x == nullptr) continue;
    kept.shape = x->shape();
    kept.dtype = x->dtype();
    if (x->committed()) kept.sharding = x->sharding();
  }
  return key;
}

bool is_key_of(const Key& key, const Request& request) {
  if (key.rule != request.rule || key.operands.size() != request.operands.size() || !(key.shape == request.shape) || !(key.attributes == request.attributes)) return false;
  for (std::size_t i = 0; i < key.operands.size(); ++i) {
    const auto& kept = key.operands[i];
    const auto* x = request.operands[i].array();
    if ((x != nullptr) != kept.shape.has_value()) return false;
    if (x == nullptr) continue;
    if (kept.dtype != x->dtype() || !(*kept.shape == x->shape()) || kept.sharding.has_value() != x->committed()) return false;
    if (kept.sharding && !(*kept.sharding == x->sharding())) return false;
  }
  return true;
}

Recent<Key, Layout>& remembered() {
  constexpr std::size_t most_bytes = std::size_t{4} << 20;
  static auto* const immortal = new Recent<Key, Layout>(most_bytes);
  return *immortal;
}

std::size_t bytes_of(const Layout& layout) {
  std::size_t boxes = 16;
  if (layout.computation)
    for (const auto& device : layout.computation->devices) boxes += 2 + device.operand_boxes.size();
  return boxes * 96;
}

AxisSplit split_over(const Mesh& mesh, const std::vector<std::string>& axes) {
  AxisSplit out;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const auto at = *mesh.find_axis(*axis);
    out.digits.push_back({mesh.strides()[at], mesh.axis_sizes()[at], out.parts});
    out.parts *= mesh.axis_sizes()[at];
  }
  return out;
}

bool names_axis(const PartitionSpec& spec, const std::string& axis) {
  return std::any_of(spec.entries().begin(), spec.entries().end(), [&](const SpecEntry& entry) {
    return std::find(entry.axes().begin(), entry.axes().end(), axis) != entry.axes().end();
  });
}

/// `spec` on the mesh; one of the shardings at hand where it says the same.
Sharding on_mesh(const Mesh& mesh, const PartitionSpec& spec, const Sharding& like, const Sharding& result) {
  if (like.mesh() == mesh && like.spec() == spec) return like;
  if (result.spec() == spec) return result;
  return NamedSharding(mesh, spec);
}

/// `[2, 0:4, ::-1] on `: which part of its operand a call asks for; nothing where it asks for no part.
std::string items_text(const std::vector<IndexItem>& items) {
  if (items.empty()) return {};
  std::string text;
  for (const auto& item : items) {
    text += text.empty() ? "[" : ", ";
    if (item.kind == IndexItem::Kind::new_axis) text += "none";
    else if (item.kind == IndexItem::Kind::integer) text += std::to_string(item.start);
    else if (item.kind == IndexItem::Kind::array) text += "array";
    else text += fmt::format("{}:{}{}", item.start, item.stop, item.step == 1 ? "" : fmt::format(":{}", item.step));
  }
  return text + "] on ";
}

/// How a contraction is computed, and in how many steps.
LocalForm contraction_form(const Request& request, const Mesh& mesh, const Sharding& result, std::span<const OperandType> types, Computation& out) {
  const auto& attributes = request.attributes;
  const auto best = contraction_strategies(mesh, attributes, types, request.shape, result.spec()).front();
  out.repeats = best.repeats;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto* x = request.operands[i].array();
    out.windows.push_back(x != nullptr && x->committed() && x->sharding().mesh() == mesh && best.operand_bytes[i] == 0);
  }
  if (request.accumulate) out.panels = choose_panels(mesh, attributes, types, request.shape, result.spec(), best, topology());
  return best.form;
}

Computation computation_of(const Request& request, const Mesh& mesh, const Sharding& result, std::span<const OperandType> types) {
  Computation out{result, result};
  const auto form = request.rule == LayoutRule::contract ? contraction_form(request, mesh, result, types, out)
                                                         : local_form(mesh, request.rule, request.attributes, types, request.shape, result.spec());
  out.computed = on_mesh(mesh, form.computed, result, result);
  out.combined = on_mesh(mesh, form.combined, out.computed, result);
  if (request.accumulate && request.rule != LayoutRule::contract)
    out.panels = choose_panels_of(request.operands.size() - 1, mesh, types, {request.shape, request.dtype, result.spec()}, topology());
  out.in_place = out.combined.is_equivalent_to(result, request.shape.ndim());
  for (const auto& axis : form.partial_axes) (names_axis(form.combined, axis) ? out.scattered_axes : out.summed_axes).push_back(axis);
  out.scattered = split_over(mesh, out.scattered_axes);
  out.summed = split_over(mesh, out.summed_axes);
  for (std::size_t i = 0; i < request.operands.size(); ++i) {
    const auto* x = request.operands[i].array();
    if (x == nullptr) out.operands.emplace_back();
    else out.operands.emplace_back(on_mesh(mesh, form.operands[i], x->sharding(), result));
  }
  for (const auto position : local_positions(mesh.devices())) {
    Computation::OnDevice device{position, out.computed.index_at(request.shape, position)};
    for (std::size_t i = 0; i < request.operands.size(); ++i) {
      const auto* x = request.operands[i].array();
      device.operand_boxes.push_back(x != nullptr ? out.operands[i]->index_at(x->shape(), position) : Index{});
    }
    const auto twin = std::find_if(out.devices.begin(), out.devices.end(), [&](const Computation::OnDevice& other) {
      return other.result_box == device.result_box && other.operand_boxes == device.operand_boxes;
    });
    device.twin = static_cast<std::size_t>(twin - out.devices.begin());
    out.devices.push_back(std::move(device));
  }
  return out;
}

}  // namespace

std::uint64_t hash_layout(const Request& request) {
  std::uint64_t h = mix(hash_shape(request.shape), static_cast<std::uint64_t>(request.rule));
  const auto& a = request.attributes;
  for (const auto axis : a.axes) h = mix(h, axis);
  h = mix(h, hash_text(a.subscripts) + (a.keepdims ? 1 : 0) + (a.in_order ? 2 : 0));
  for (const auto& item : a.items)
    for (const auto n : {static_cast<std::int64_t>(item.kind), item.start, item.stop, item.step}) h = mix(h, n);
  if (a.out_spec)
    for (const auto& entry : a.out_spec->entries())
      for (const auto& axis : entry.axes()) h = mix(mix(h, entry.axes().size()), hash_text(axis));
  for (const auto& operand : request.operands) h = mix(h, operand.array() != nullptr ? hash_type(*operand.array()) : 0);
  return h;
}

std::shared_ptr<const Layout> remembered_layout(const Request& request, std::uint64_t hash) {
  return remembered().find(hash, [&](const Key& key) { return is_key_of(key, request); });
}

std::shared_ptr<const Layout> decide_layout(const Request& request, std::uint64_t hash, const Sharding& like, std::span<const OperandType> types) {
  const auto& mesh = like.mesh();
  const auto spec = propagate(mesh, request.rule, request.operation, request.attributes, types, request.shape);
  auto layout = std::make_shared<Layout>(Layout{mesh, like.spec() == spec ? like : Sharding(NamedSharding(mesh, spec))});
  layout->words = std::make_shared<const std::string>(items_text(request.attributes.items) + to_string(mesh));
  if (has_local_form(request.rule)) layout->computation = computation_of(request, mesh, layout->result, types);
  remembered().add(hash, key_of(request), layout, bytes_of(*layout));
  return layout;
}

}  // namespace meshwise::detail

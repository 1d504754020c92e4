#include "meshwise/plan/local_form.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwise/base/error.hpp"
#include "meshwise/plan/contraction.hpp"
#include "plan/entries.hpp"

namespace meshwise {
namespace detail {
namespace {

// Entries of the wanted placement; the caller turns them into spec objects.
struct Form {
  std::vector<Entries> operands{};
  Entries computed{};
  Entry partial{};
};

struct Task {
  const Mesh& mesh;
  LayoutRule rule;
  const Attributes& attributes;
  std::span<const OperandType> operands;
  const Shape& result;
  std::vector<Entries> own{};
  Entries wanted{};
};

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

bool share_an_axis(const Entry& a, const Entry& b) { return a.find_first_of(b) != Entry::npos; }

// The result's entries for an operand that is broadcast to it.
Entries broadcast_from(const Entries& wanted, const Shape& result, const Shape& own) {
  Entries out(at(own.ndim()));
  const auto shift = result.ndim() - own.ndim();
  for (std::int64_t d = 0; d < own.ndim(); ++d)
    if (own[d] == result[d + shift]) out[at(d)] = wanted[at(d + shift)];
  return out;
}

Form elementwise(const Task& task) {
  Form form{{}, task.wanted, {}};
  for (const auto& x : task.operands) form.operands.push_back(broadcast_from(task.wanted, task.result, x.shape));
  return form;
}

Form reduce(const Task& task) {
  const auto& axes = task.attributes.axes;
  Form form{{Entries(task.own[0].size())}, task.wanted, {}};
  Entry used;
  for (const auto& entry : task.wanted) used += entry;
  std::size_t next = 0;
  for (std::size_t d = 0; d < task.own[0].size(); ++d) {
    const auto& own = task.own[0][d];
    if (std::ranges::find(axes, static_cast<std::int64_t>(d)) == axes.end()) {
      form.operands[0][d] = task.wanted[next++];
      continue;
    }
    if (task.attributes.keepdims) form.computed[next++].clear();
    if (share_an_axis(own, used)) continue;
    form.operands[0][d] = own;
    form.partial += own;
  }
  // What is reduced with x's elements lies beside them; where it is broadcast it is whole.
  for (std::size_t i = 1; i < task.operands.size(); ++i) {
    form.operands.push_back(form.operands[0]);
    for (std::size_t d = 0; d < form.operands[i].size(); ++d)
      if (const auto axis = static_cast<std::int64_t>(d); task.operands[i].shape[axis] != task.operands[0].shape[axis]) form.operands[i][d].clear();
  }
  return form;
}

Form transpose(const Task& task) {
  Form form{{Entries(task.wanted.size())}, task.wanted, {}};
  for (std::size_t d = 0; d < task.wanted.size(); ++d) form.operands[0][at(task.attributes.axes[d])] = task.wanted[d];
  return form;
}

Form expand_dims(const Task& task) {
  Form form{{{}}, task.wanted, {}};
  const auto& axes = task.attributes.axes;
  for (std::size_t d = 0; d < task.wanted.size(); ++d) {
    if (std::ranges::find(axes, static_cast<std::int64_t>(d)) != axes.end()) form.computed[d].clear();
    else form.operands[0].push_back(task.wanted[d]);
  }
  return form;
}

Form squeeze(const Task& task) {
  Form form{{Entries(task.own[0].size())}, task.wanted, {}};
  const auto& axes = task.attributes.axes;
  std::size_t next = 0;
  for (std::size_t d = 0; d < task.own[0].size(); ++d)
    if (std::ranges::find(axes, static_cast<std::int64_t>(d)) == axes.end()) form.operands[0][d] = task.wanted[next++];
  return form;
}

// A gathered axis that is whole, for results placed by `wanted`.
Form take_whole(const Task& task, std::int64_t axis, const Entries& wanted) {
  const auto first = wanted.begin() + axis;
  const auto last = first + static_cast<std::ptrdiff_t>(task.own[1].size());
  Entries x(wanted.begin(), first);
  x.emplace_back();
  x.insert(x.end(), last, wanted.end());
  return {{std::move(x), Entries(first, last)}, wanted, {}};
}

Form take_along_whole(const Task& task, std::int64_t axis, const Entries& wanted) {
  Form form{{broadcast_from(wanted, task.result, task.operands[0].shape), broadcast_from(wanted, task.result, task.operands[1].shape)}, wanted, {}};
  form.operands[0][at(axis)].clear();
  return form;
}

// Each entry up to the first mesh axis that is `used`: coarser parts, of which the wanted ones are pieces.
Entries up_to(Entries entries, const Entry& used) {
  for (auto& entry : entries) entry.resize(std::min(entry.find_first_of(used), entry.size()));
  return entries;
}

// Bytes of the largest block.
double block_bytes(const Mesh& mesh, const Shape& shape, const Entries& entries, Dtype dtype) {
  auto bytes = static_cast<double>(itemsize(dtype));
  for (std::int64_t d = 0; d < shape.ndim(); ++d) {
    const auto parts = parts_of(mesh, entries[at(d)]);
    bytes *= static_cast<double>((shape[d] + parts - 1) / parts);
  }
  return bytes;
}

// A gathered axis that is cut either comes together on every device, or each device looks up what its part holds and the outcomes are combined, which moves
// a block of the result twice. Whichever moves less.
template <class Whole>
Form gather(const Task& task, std::int64_t axis, Whole whole) {
  auto together = whole(task, axis, task.wanted);
  const auto& own = task.own[0][at(axis)];
  if (own.empty()) return together;
  auto in_parts = whole(task, axis, up_to(task.wanted, own));
  const auto& x = task.operands[0];
  const auto& indices = task.operands[1];
  const auto cost_of_indices = [&](const Form& form) { return block_bytes(task.mesh, indices.shape, form.operands[1], indices.dtype); };
  const auto gathered = block_bytes(task.mesh, x.shape, together.operands[0], x.dtype) + cost_of_indices(together);
  const auto combined = 2 * block_bytes(task.mesh, task.result, in_parts.computed, x.dtype) + cost_of_indices(in_parts);
  if (combined >= gathered) return together;
  in_parts.operands[0][at(axis)] = own;
  in_parts.partial = own;
  return in_parts;
}

Form take(const Task& task) { return gather(task, task.rule == LayoutRule::gather_get ? 0 : task.attributes.axes[0], take_whole); }

Form take_along_axis(const Task& task) { return gather(task, task.attributes.axes[0], take_along_whole); }

Form worked_axis(const Task& task) {
  auto wanted = task.wanted;
  for (const auto axis : task.attributes.axes) wanted[at(axis)].clear();
  return {{broadcast_from(wanted, task.result, task.operands[0].shape)}, wanted, {}};
}

// Operands beside the first are whole on the worked axes and elsewhere beside the block; those with other axes are whole.
Form blockwise(const Task& task) {
  Form form{{task.own[0]}, task.wanted, {}};
  auto beside = task.wanted;
  for (const auto axis : task.attributes.axes) beside[at(axis)].clear();
  for (std::size_t i = 1; i < task.own.size(); ++i)
    form.operands.push_back(task.own[i].size() == beside.size() ? beside : Entries(task.own[i].size()));
  return form;
}

Form at_set(const Task& task) {
  Form form{{task.own[0]}, task.wanted, {}};
  for (std::size_t i = 1; i < task.own.size(); ++i) form.operands.emplace_back(task.own[i].size());
  return form;
}

Form whole(const Task& task) {
  Form form{{}, task.wanted, {}};
  for (const auto& own : task.own) form.operands.emplace_back(own.size());
  return form;
}

Form form_of(const Task& task) {
  switch (task.rule) {
    case LayoutRule::reduce:
    case LayoutRule::arg_reduce: return reduce(task);
    case LayoutRule::transpose: return transpose(task);
    case LayoutRule::expand_dims: return expand_dims(task);
    case LayoutRule::squeeze: return squeeze(task);
    case LayoutRule::take:
    case LayoutRule::gather_get: return take(task);
    case LayoutRule::take_along_axis: return take_along_axis(task);
    case LayoutRule::worked_axis:
    case LayoutRule::tile: return worked_axis(task);
    case LayoutRule::blockwise: return blockwise(task);
    case LayoutRule::at_set: return at_set(task);
    case LayoutRule::whole: return whole(task);
    default: return elementwise(task);
  }
}

}  // namespace
}  // namespace detail

bool has_local_form(LayoutRule rule) {
  switch (rule) {
    case LayoutRule::reshape:
    case LayoutRule::concatenate:
    case LayoutRule::stack:
    case LayoutRule::flip:
    case LayoutRule::pad:
    case LayoutRule::slice:
    case LayoutRule::dynamic_slice:
    case LayoutRule::getitem:
    case LayoutRule::at_get:
    case LayoutRule::dynamic_update_slice:
    case LayoutRule::reshard: return false;
    default: return true;
  }
}

LocalForm local_form(const Mesh& mesh, LayoutRule rule, const Attributes& attributes, std::span<const OperandType> operands,
                     const Shape& result, const PartitionSpec& result_spec) {
  if (!has_local_form(rule))
    throw Error(fmt::format("local_form: rule {} moves boxes and computes nothing; plan it as a movement", static_cast<int>(rule)));
  LocalForm out;
  const bool elementwise = rule == LayoutRule::unary || rule == LayoutRule::elementwise || rule == LayoutRule::where ||
                           rule == LayoutRule::clip;
  if (elementwise && std::ranges::all_of(operands, [&](const OperandType& x) { return x.shape == result && x.spec == result_spec; })) {
    out.operands.assign(operands.size(), result_spec);
    out.computed = out.combined = result_spec;
    return out;
  }
  if (rule == LayoutRule::contract) return contraction_strategies(mesh, attributes, operands, result, result_spec).front().form;
  detail::Task task{mesh, rule, attributes, operands, result};
  for (const auto& x : operands) task.own.push_back(detail::read_spec(mesh, x.spec, x.shape.ndim()));
  task.wanted = detail::read_spec(mesh, result_spec, result.ndim());
  auto form = detail::form_of(task);
  for (std::size_t i = 0; i < operands.size(); ++i)
    out.operands.push_back(form.operands[i] == task.own[i] ? operands[i].spec : detail::write_short(mesh, form.operands[i]));
  out.computed = form.computed == task.wanted ? result_spec : detail::write_short(mesh, form.computed);
  out.combined = out.computed;
  std::ranges::sort(form.partial);
  for (const auto axis : form.partial) out.partial_axes.push_back(mesh.axis_names()[axis]);
  return out;
}

}  // namespace meshwise

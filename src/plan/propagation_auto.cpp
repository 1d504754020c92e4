// The Auto rule book: layouts negotiate (layout-rules sections 1 and 2, measured against JAX with GSPMD). It never refuses.
#include <algorithm>
#include <numeric>

#include "plan/propagation_rules.hpp"

namespace meshwise::detail {
namespace {

// Two passes: "merge while scanning" lets an early, small operand claim mesh axes that the one with most tiles needs.
Entries negotiate(const Mesh& mesh, std::span<const Entries> specs) {
  auto best = specs[most_tiles(mesh, specs)];
  for (const auto& spec : specs)
    if (auto merged = merge(best, spec)) best = std::move(*merged);
  return best;
}

struct Member {
  const Entries* entries;
  const Shape* shape;
};

// Operands of the full shape decide; a broadcast operand fills in or refines, however many tiles it has.
Entries negotiate_broadcast(const Mesh& mesh, std::span<const Member> members, const Shape& result) {
  std::vector<Entries> full;
  for (const auto& m : members)
    if (*m.shape == result) full.push_back(*m.entries);
  auto best = full.empty() ? Entries(static_cast<std::size_t>(result.ndim())) : negotiate(mesh, full);
  if (full.size() == members.size()) return best;
  for (const auto& m : members)
    if (*m.shape != result)
      if (auto refined = refine(best, align(*m.entries, *m.shape, result))) best = std::move(*refined);
  return best;
}

Entries elementwise(const Question& question) {
  std::vector<Member> members;
  for (std::size_t i = 0; i < question.specs.size(); ++i) members.push_back({&question.specs[i], &question.operands[i].shape});
  return negotiate_broadcast(question.mesh, members, question.result);
}

// clip is minimum(hi, maximum(lo, x)), and so is its layout.
Entries clip(const Question& question) {
  if (question.specs.size() != 3) return elementwise(question);
  const auto& x = question.operands[0].shape;
  const auto& lo = question.operands[1].shape;
  const auto& hi = question.operands[2].shape;
  const auto shape = broadcast_shapes(lo, x, "clip");
  const Member lower[] = {{&question.specs[1], &lo}, {&question.specs[0], &x}};
  const auto raised = negotiate_broadcast(question.mesh, lower, shape);
  const Member upper[] = {{&question.specs[2], &hi}, {&raised, &shape}};
  return negotiate_broadcast(question.mesh, upper, question.result);
}

// The result's letters looked up in each operand. The operand with more elements speaks first, and on a conflict alone.
Entries contract(const Question& question) {
  const auto subscripts = Subscripts::parse(question.attributes.subscripts, question.operands.size());
  std::vector<std::size_t> order(question.operands.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::size_t i) { return question.operands[i].shape.num_elements(); });
  Entries best;
  for (const auto i : order) {
    Entries seen;
    for (const char letter : subscripts.result) {
      const auto at = subscripts.terms[i].find(letter);
      seen.push_back(at == std::string::npos ? Entry{} : question.specs[i][at]);
    }
    if (i == order[0]) best = std::move(seen);
    else if (auto refined = refine(best, seen)) best = std::move(*refined);
  }
  return best;
}

// Without a merge: pieces of one operand already lie where they will, the others are brought to it.
Entries join(const Question& question) {
  auto out = question.specs[most_tiles(question.mesh, question.specs)];
  if (question.rule == LayoutRule::stack) out.insert(out.begin() + question.attributes.axes[0], Entry{});
  return out;
}

Entries tile(const Question& question) {
  auto out = align(question.specs[0], question.operands[0].shape, question.result);
  for (const auto axis : question.attributes.axes) out[static_cast<std::size_t>(axis)].clear();
  return out;
}

Entries take(const Question& question) {
  const auto axis = question.rule == LayoutRule::gather_get ? 0 : question.attributes.axes[0];
  const auto own = around_gathered(question, axis);
  Entries indices(own.size());
  std::ranges::copy(question.specs[1], indices.begin() + axis);
  return refine(indices, own).value_or(indices);
}

Entries take_along_axis(const Question& question) {
  auto own = align(question.specs[0], question.operands[0].shape, question.result);
  own[static_cast<std::size_t>(question.attributes.axes[0])].clear();
  const auto indices = align(question.specs[1], question.operands[1].shape, question.result);
  return refine(indices, own).value_or(indices);
}

}  // namespace

Entries auto_rule(const Question& question) {
  switch (question.rule) {
    case LayoutRule::unary:
    case LayoutRule::flip:
    case LayoutRule::reduce:
    case LayoutRule::arg_reduce:
    case LayoutRule::transpose:
    case LayoutRule::expand_dims:
    case LayoutRule::squeeze:
    case LayoutRule::broadcast_to: return follow_axes(question);
    case LayoutRule::elementwise:
    case LayoutRule::where: return elementwise(question);
    case LayoutRule::clip: return clip(question);
    case LayoutRule::contract: return contract(question);
    case LayoutRule::reshape:
      return auto_reshape(question.mesh, question.operands[0].shape, question.specs[0], question.result);
    case LayoutRule::concatenate:
    case LayoutRule::stack: return join(question);
    case LayoutRule::tile: return tile(question);
    case LayoutRule::getitem:
    case LayoutRule::at_get: return follow_items(question);
    case LayoutRule::take:
    case LayoutRule::gather_get: return take(question);
    case LayoutRule::take_along_axis: return take_along_axis(question);
    // Kept also on the worked, padded or cut axis: parts may be uneven, and an update goes where the target lies.
    case LayoutRule::worked_axis:
    case LayoutRule::blockwise:
    case LayoutRule::pad:
    case LayoutRule::slice:
    case LayoutRule::dynamic_slice:
    case LayoutRule::at_set:
    case LayoutRule::dynamic_update_slice:
    case LayoutRule::whole:
    case LayoutRule::reshard: break;
  }
  return question.specs[0];
}

}  // namespace meshwise::detail

// The Explicit rule book: the spec is part of the type, and what is ambiguous is refused (layout-rules section 4, measured
// against JAX). Checks stand in the order in which JAX makes them.
#include <fmt/format.h>

#include <algorithm>

#include "plan/propagation_rules.hpp"

namespace meshwise::detail {
namespace {

constexpr const char* reshard_operands = "Cure: reshard the operands to one spec first.";
constexpr const char* give_out_spec = "Cure: say the result's spec with out_spec (out_sharding), or reshard the operand first.";

// An operand as one elementwise step sees it; clip's second step sees the first one's result.
struct Member {
  Entries entries;
  Shape shape;
  Dtype dtype;
};

std::string type_of(const Question& question, const Member& m) {
  return type_string(m.dtype, m.shape, write_full(question.mesh, m.entries));
}

Member member(const Question& question, std::size_t i) {
  return {question.specs[i], question.operands[i].shape, question.operands[i].dtype};
}

void refuse_repeated(const Question& question, std::string_view operation, std::span<const Member> members,
                     const Entries& out, const Shape& result) {
  if (!repeats_an_axis(out)) return;
  std::vector<std::string> types;
  for (const auto& m : members) types.push_back(type_of(question, m));
  refuse(question,
         fmt::format("{} operation with inputs: {} produces an illegally sharded result: {}; a mesh axis may split one axis only.",
                     operation, fmt::join(types, ", "),
                     type_string(members[0].dtype, result, write_full(question.mesh, out))),
         reshard_operands);
}

Entries combine(const Question& question, std::string_view operation, std::span<const Member> members, const Shape& result) {
  Entries out(static_cast<std::size_t>(result.ndim()));
  std::vector<Entries> aligned;
  for (const auto& m : members)
    if (!m.shape.empty()) aligned.push_back(align(m.entries, m.shape, result));
  for (std::size_t d = 0; d < out.size(); ++d)
    for (const auto& entries : aligned) {
      if (entries[d].empty() || entries[d] == out[d]) continue;
      if (!out[d].empty()) {
        std::vector<std::string> specs;
        for (const auto& e : aligned) specs.push_back(tuple_string(question.mesh, e));
        refuse(question, fmt::format("{} got incompatible shardings for broadcasting: {}.", operation, fmt::join(specs, ", ")),
               reshard_operands);
      }
      out[d] = entries[d];
    }
  refuse_repeated(question, operation, members, out, result);
  return out;
}

std::vector<Member> all_members(const Question& question) {
  std::vector<Member> out;
  for (std::size_t i = 0; i < question.specs.size(); ++i) out.push_back(member(question, i));
  return out;
}

Entries elementwise(const Question& question) {
  return combine(question, question.operation, all_members(question), question.result);
}

Entries clip(const Question& question) {
  if (question.specs.size() != 3) return elementwise(question);
  const auto x = member(question, 0), lo = member(question, 1), hi = member(question, 2);
  const auto shape = broadcast_shapes(lo.shape, x.shape, "clip");
  const Member lower[] = {lo, x};
  const Member upper[] = {hi, {combine(question, "maximum (clip's first step)", lower, shape), shape, x.dtype}};
  return combine(question, "minimum (clip's second step)", upper, question.result);
}

[[noreturn]] void refuse_not_same(const Question& question) {
  std::vector<std::string> specs;
  for (const auto& s : question.specs) specs.push_back(tuple_string(question.mesh, s));
  refuse(question,
         fmt::format("{}: all operands should have the same sharding. Got shardings {}.", question.operation,
                     fmt::join(specs, ", ")),
         reshard_operands);
}

Entries all_the_same(const Question& question) {
  // Where an update begins, said by arrays without axes, has no sharding to be the same.
  const auto count = question.rule == LayoutRule::dynamic_update_slice ? std::min<std::size_t>(question.specs.size(), 2) : question.specs.size();
  for (std::size_t i = 0; i < count; ++i)
    if (question.specs[i] != question.specs[0]) refuse_not_same(question);
  auto out = question.specs[0];
  if (question.rule == LayoutRule::stack) out.insert(out.begin() + question.attributes.axes[0], Entry{});
  return out;
}

// Operands of the full shape must agree whole; one that is broadcast, in the entries it has (a scalar has none).
Entries where(const Question& question) {
  const Entries* full = nullptr;
  for (std::size_t i = 0; i < question.specs.size(); ++i) {
    if (question.operands[i].shape != question.result) continue;
    if (full && question.specs[i] != *full) refuse_not_same(question);
    full = &question.specs[i];
  }
  if (!full) return elementwise(question);
  for (std::size_t i = 0; i < question.specs.size(); ++i) {
    const auto aligned = align(question.specs[i], question.operands[i].shape, question.result);
    for (std::size_t d = 0; d < aligned.size(); ++d)
      if (!aligned[d].empty() && aligned[d] != (*full)[d]) refuse_not_same(question);
  }
  return *full;
}

Entries contract(const Question& question) {
  const auto subscripts = Subscripts::parse(question.attributes.subscripts, question.operands.size());
  const auto& terms = subscripts.terms;
  const auto entry_of = [&](std::size_t i, char letter) -> const Entry* {
    const auto at = terms[i].find(letter);
    return at == std::string::npos ? nullptr : &question.specs[i][at];
  };
  // Of letters that two terms share, those in the result are batch letters, the others are contracted.
  for (std::size_t i = 0; i < terms.size(); ++i)
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      Entries batch[2], contracted[2];
      bool clash = false;
      for (const char letter : terms[i]) {
        const auto *a = entry_of(i, letter), *b = entry_of(j, letter);
        if (!b) continue;
        const bool kept = subscripts.result.find(letter) != std::string::npos;
        (kept ? batch : contracted)[0].push_back(*a);
        (kept ? batch : contracted)[1].push_back(*b);
        clash = clash || (!kept && !a->empty() && !b->empty());
      }
      if (batch[0] != batch[1])
        refuse(question,
               fmt::format("{} requires lhs batch dimensions and rhs batch dimensions to have the same sharding, got {} and {}.",
                           question.operation, tuple_string(question.mesh, batch[0]), tuple_string(question.mesh, batch[1])),
               reshard_operands);
      if (clash)
        refuse(question,
               fmt::format("{}: Contracting dimensions are sharded and it is ambiguous how the output should be sharded. Please "
                           "specify the output sharding via the out_spec (out_sharding) parameter. Got lhs_contracting_spec={} and "
                           "rhs_contracting_spec={}.",
                           question.operation, tuple_string(question.mesh, contracted[0]),
                           tuple_string(question.mesh, contracted[1])),
               give_out_spec);
    }
  Entries out;
  for (const char letter : subscripts.result) {
    out.emplace_back();
    for (std::size_t i = 0; i < terms.size() && out.back().empty(); ++i)
      if (const auto* entry = entry_of(i, letter)) out.back() = *entry;
  }
  refuse_repeated(question, question.operation, all_members(question), out, question.result);
  return out;
}

Entries reshape(const Question& question) {
  const auto& x = question.operands[0];
  if (auto out = explicit_reshape(question.mesh, x.shape, question.specs[0], question.result)) return std::move(*out);
  refuse(question,
         fmt::format("This reshape is not supported. Please specify the sharding of the output via the out_spec (out_sharding) "
                     "argument. Got operand type: {}, new sizes: {}.",
                     type_string(x.dtype, x.shape, x.spec), to_string(question.result)),
         give_out_spec);
}

// A result of single elements is whole; otherwise parts may be uneven, so an axis that changes its length keeps its entry.
Entries part_of_operand(const Question& question) {
  const bool single = std::ranges::all_of(question.result, [](std::int64_t n) { return n == 1; });
  if (single && question.operands[0].shape != question.result) return Entries(question.specs[0].size());
  return question.specs[0];
}

[[noreturn]] void refuse_indexing(const Question& question, std::string_view what, std::string_view axes) {
  refuse(question,
         fmt::format("{}: the sharding of the {} indexing could not be resolved unambiguously (or would need communication): {}",
                     question.operation, what, axes),
         give_out_spec);
}

constexpr std::string_view indexed_axes_whole = "axes that are not taken whole must be unsharded.";

// True where an axis that is not taken whole is split.
bool cuts_a_split_axis(const Question& question) {
  std::size_t axis = 0;
  for (const auto& item : question.attributes.items) {
    if (item.kind == IndexItem::Kind::new_axis) continue;
    const bool whole = item.kind == IndexItem::Kind::range && item.whole;
    if (!whole && !question.specs[0][axis].empty()) return true;
    ++axis;
  }
  return false;
}

Entries getitem(const Question& question) {
  if (cuts_a_split_axis(question)) refuse_indexing(question, "gather", indexed_axes_whole);
  return follow_items(question);
}

Entries take(const Question& question) {
  const bool at_get = question.rule == LayoutRule::gather_get;
  const auto axis = at_get ? 0 : question.attributes.axes[0];
  auto out = around_gathered(question, axis);
  if (at_get) {
    auto both = out;
    std::ranges::copy(question.specs[1], both.begin() + axis);
    if (repeats_an_axis(both))
      refuse(question,
             fmt::format("{}: the indices' sharding together with the operand's would use a mesh axis twice: duplicate entries in {}.",
                         question.operation, tuple_string(question.mesh, both)),
             give_out_spec);
  }
  if (!all_empty(question.specs[1]) || !question.specs[0][static_cast<std::size_t>(axis)].empty())
    refuse_indexing(question, "gather", "the indices and the indexed axis must be unsharded.");
  return out;
}

Entries take_along_axis(const Question& question) {
  constexpr std::string_view rule = "the axis must be unsharded in both, and elsewhere the entries equal, or one of them none.";
  const auto axis = static_cast<std::size_t>(question.attributes.axes[0]);
  if (!question.specs[0][axis].empty() || !question.specs[1][axis].empty()) refuse_indexing(question, "gather", rule);
  const auto x = align(question.specs[0], question.operands[0].shape, question.result);
  const auto indices = align(question.specs[1], question.operands[1].shape, question.result);
  auto out = merge(indices, x);
  if (!out) refuse_indexing(question, "gather", rule);
  return std::move(*out);
}

[[noreturn]] void refuse_types(const Question& question, const OperandType& from, const Entries& wanted, const Shape& shape) {
  refuse(question,
         fmt::format("{}: Incompatible types for broadcasting: input type={} and requested type={}.", question.operation,
                     type_string(from.dtype, from.shape, from.spec),
                     type_string(from.dtype, shape, write_full(question.mesh, wanted))),
         "Cure: reshard the input to the requested entries, or leave them out of it.");
}

std::int64_t length_of(const IndexItem& item) {
  const auto distance = item.step > 0 ? item.stop - item.start : item.start - item.stop;
  const auto step = item.step > 0 ? item.step : -item.step;
  return distance > 0 ? (distance + step - 1) / step : 0;
}

Entries at_set(const Question& question) {
  const auto& x = question.operands[0];
  Entries region;
  Shape shape;
  std::int64_t axis = 0;
  for (const auto& item : question.attributes.items) {
    if (item.kind == IndexItem::Kind::new_axis) {
      region.emplace_back();
      shape.push_back(1);
      continue;
    }
    if (item.kind == IndexItem::Kind::range) {
      region.push_back(question.specs[0][static_cast<std::size_t>(axis)]);
      shape.push_back(item.whole ? x.shape[axis] : length_of(item));
    }
    ++axis;
  }
  for (; axis < x.shape.ndim(); ++axis) {
    region.push_back(question.specs[0][static_cast<std::size_t>(axis)]);
    shape.push_back(x.shape[axis]);
  }
  const auto& u = question.operands[1];
  if (std::ranges::any_of(question.attributes.items, [](const IndexItem& item) { return item.kind == IndexItem::Kind::array; })) {
    if (cuts_a_split_axis(question)) refuse_indexing(question, "scatter", indexed_axes_whole);
    if (!all_empty(question.specs[1])) refuse_indexing(question, "scatter", "an update at arrays of indices must be unsharded.");
    return question.specs[0];
  }
  const auto update = align(question.specs[1], u.shape, shape);
  for (std::size_t d = 0; d < region.size(); ++d)
    if (!update[d].empty() && update[d] != region[d]) refuse_types(question, u, region, shape);
  if (cuts_a_split_axis(question)) refuse_indexing(question, "scatter", indexed_axes_whole);
  return question.specs[0];
}

// sort, cumsum, roll, tile; a tile may put new axes in front.
Entries worked_axis(const Question& question) {
  const auto& x = question.operands[0];
  const auto missing = question.result.ndim() - x.shape.ndim();
  Entries out(static_cast<std::size_t>(missing));
  out.insert(out.end(), question.specs[0].begin(), question.specs[0].end());
  for (const auto axis : question.attributes.axes)
    if (!out[static_cast<std::size_t>(axis)].empty())
      refuse(question,
             fmt::format("{}: the operand must be unsharded over the axis worked on. Got type={} and axis={}.", question.operation,
                         type_string(x.dtype, x.shape, x.spec), axis - missing),
             "Cure: reshard the operand so that this axis is whole.");
  return out;
}

}  // namespace

void check_explicit_out_spec(const Question& question, const Entries& wanted) {
  if (question.rule != LayoutRule::broadcast_to) return;
  const auto own = align(question.specs[0], question.operands[0].shape, question.result);
  for (std::size_t d = 0; d < own.size(); ++d)
    if (!own[d].empty() && own[d] != wanted[d]) refuse_types(question, question.operands[0], wanted, question.result);
}

Entries explicit_rule(const Question& question) {
  switch (question.rule) {
    case LayoutRule::unary:
    case LayoutRule::flip:
    case LayoutRule::reduce:
    case LayoutRule::arg_reduce:
    case LayoutRule::transpose:
    case LayoutRule::expand_dims:
    case LayoutRule::squeeze:
    case LayoutRule::broadcast_to: return follow_axes(question);
    case LayoutRule::elementwise: return elementwise(question);
    case LayoutRule::clip: return clip(question);
    case LayoutRule::where: return where(question);
    case LayoutRule::contract: return contract(question);
    case LayoutRule::reshape: return reshape(question);
    case LayoutRule::concatenate:
    case LayoutRule::stack:
    case LayoutRule::dynamic_update_slice: return all_the_same(question);
    case LayoutRule::slice:
    case LayoutRule::dynamic_slice:
    case LayoutRule::pad: return part_of_operand(question);
    case LayoutRule::getitem:
    case LayoutRule::at_get: return getitem(question);
    case LayoutRule::take:
    case LayoutRule::gather_get: return take(question);
    case LayoutRule::take_along_axis: return take_along_axis(question);
    case LayoutRule::at_set: return at_set(question);
    case LayoutRule::worked_axis:
    case LayoutRule::tile: return worked_axis(question);
    case LayoutRule::blockwise:
    case LayoutRule::whole:
    case LayoutRule::reshard: break;
  }
  return question.specs[0];
}

}  // namespace meshwise::detail

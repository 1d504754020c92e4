// Which spec a result has: reads the specs, asks the rule book of the mesh's axis types, chooses the spec object.
#include "meshwise/plan/propagation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwise/base/error.hpp"
#include "meshwise/placement/sharding.hpp"
#include "plan/propagation_rules.hpp"

namespace meshwise {

std::int64_t tiles(const Mesh& mesh, const PartitionSpec& spec) {
  return detail::tiles_of(mesh, detail::read_spec(mesh, spec, spec.size()));
}

namespace detail {
namespace {

bool is_elementwise(LayoutRule rule) {
  return rule == LayoutRule::unary || rule == LayoutRule::elementwise || rule == LayoutRule::where || rule == LayoutRule::clip;
}

// The everyday case, and the one whose price is felt: everything is placed alike, so there is nothing to negotiate.
bool all_alike(std::span<const OperandType> operands, const Shape& result) {
  return std::ranges::all_of(operands, [&](const OperandType& x) { return x.shape == result && x.spec == operands[0].spec; });
}

// An operation that changes nothing hands back the operand itself, so also an Explicit type keeps its spec as it was stored.
bool changes_nothing(LayoutRule rule, const Attributes& attributes, const OperandType& x, const Shape& result) {
  if (x.shape != result) return false;
  switch (rule) {
    case LayoutRule::reshape:
    case LayoutRule::broadcast_to:
    case LayoutRule::squeeze:
    case LayoutRule::expand_dims: return true;
    case LayoutRule::transpose: return std::ranges::is_sorted(attributes.axes);
    case LayoutRule::slice:
    case LayoutRule::dynamic_slice:
    case LayoutRule::getitem:
      return std::ranges::all_of(attributes.items, [](const IndexItem& item) {
        return item.kind == IndexItem::Kind::range && item.whole && item.step == 1;
      });
    default: return false;
  }
}

PartitionSpec given_spec(const Question& question) {
  const auto& spec = *question.attributes.out_spec;
  const auto ndim = question.result.ndim();
  if (spec.size() > ndim)
    throw PlacementError(fmt::format("{}: out_spec {} has {} entries, but the result has shape {}, {} axes. Operands: {}. Leave "
                                     "out the entries beyond the last axis.",
                                     question.operation, to_string(spec), spec.size(), to_string(question.result), ndim,
                                     operands_string(question)));
  const auto checked = NamedSharding(question.mesh, spec);
  if (!question.mesh.is_explicit()) return spec;
  check_explicit_out_spec(question, read_spec(question.mesh, spec, ndim, Units::kept));
  return checked.spec().padded(ndim);
}

}  // namespace
}  // namespace detail

PartitionSpec propagate(const Mesh& mesh, LayoutRule rule, std::string_view operation, const Attributes& attributes,
                        std::span<const OperandType> operands, const Shape& result) {
  const bool is_explicit = mesh.is_explicit();
  if (!attributes.out_spec && !operands.empty() && detail::is_elementwise(rule) && detail::all_alike(operands, result))
    return is_explicit ? operands[0].spec.padded(result.ndim()) : operands[0].spec;

  detail::Question question{mesh, rule, operation, attributes, operands, result};
  question.specs.reserve(operands.size());
  const auto units = is_explicit ? detail::Units::kept : detail::Units::dropped;
  for (const auto& x : operands) question.specs.push_back(detail::read_spec(mesh, x.spec, x.shape.ndim(), units));
  if (attributes.out_spec) return detail::given_spec(question);
  if (operands.empty() || rule == LayoutRule::whole) return is_explicit ? PartitionSpec{}.padded(result.ndim()) : PartitionSpec{};

  const auto& first = operands[0];
  if (detail::changes_nothing(rule, attributes, first, result)) return first.spec;
  if (is_explicit) return detail::write_full(mesh, detail::explicit_rule(question));
  const auto entries = detail::auto_rule(question);
  return entries == question.specs[0] ? first.spec : detail::write_short(mesh, entries);  // equal: same ndim, same placement
}

}  // namespace meshwise

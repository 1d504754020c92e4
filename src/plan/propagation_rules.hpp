#pragma once
// The rule engine's parts. A rule maps the operands' entries to the result's; propagate() reads specs before and chooses
// the spec object after. A new operation names an existing LayoutRule, or adds one case to each of the two rule books.

#include <span>
#include <string>
#include <string_view>

#include "meshwise/plan/propagation.hpp"
#include "plan/entries.hpp"

namespace meshwise::detail {

/// Local. What propagate() was asked, with the operands' specs read.
struct Question {
  const Mesh& mesh;
  LayoutRule rule;
  std::string_view operation;
  const Attributes& attributes;
  std::span<const OperandType> operands;
  const Shape& result;
  std::vector<Entries> specs{};
};

/// Local. Rules that Auto and Explicit share: the result's axes are the operand's, dropped, permuted or new.
Entries follow_axes(const Question& question);
/// Local. x[...]: an integer drops its axis, a new axis is whole, a range keeps the entry.
Entries follow_items(const Question& question);
/// Local. take(x, indices, axis): x's entries with the indices' axes, whole, in place of `axis`.
Entries around_gathered(const Question& question, std::int64_t axis);

Entries auto_rule(const Question& question);
Entries auto_reshape(const Mesh& mesh, const Shape& shape, const Entries& entries, const Shape& result);

/// Local. Throws: ShardingTypeError.
Entries explicit_rule(const Question& question);
/// Local. Nothing where the reshape is not one split or one merge.
std::optional<Entries> explicit_reshape(const Mesh& mesh, const Shape& shape, const Entries& entries, const Shape& result);
/// Local. Throws: ShardingTypeError where an out_spec contradicts the operand (broadcast_to).
void check_explicit_out_spec(const Question& question, const Entries& wanted);

/// Local. `('x', None)`, `(('x', 'y'),)`: entries as JAX's messages print them.
std::string tuple_string(const Mesh& mesh, const Entries& entries);
/// Local. `x: float32[8@x,16], y: float32[8,16@x]`.
std::string operands_string(const Question& question);
/// Local. Throws ShardingTypeError: the rule, the operands' types, the mesh, the cure.
[[noreturn]] void refuse(const Question& question, const std::string& rule, const std::string& cure);

}  // namespace meshwise::detail

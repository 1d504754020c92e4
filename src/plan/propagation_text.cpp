// Types as text, and the words of refusals (layout-rules section 6, in the house's form).
#include <fmt/format.h>

#include "meshwise/base/error.hpp"
#include "plan/propagation_rules.hpp"

namespace meshwise {

std::string type_string(Dtype dtype, const Shape& shape, const PartitionSpec& spec) {
  auto out = fmt::format("{}[", name(dtype));
  for (std::int64_t d = 0; d < shape.ndim(); ++d) {
    if (d > 0) out += ',';
    out += std::to_string(shape[d]);
    const auto& axes = spec[d].axes();
    if (axes.size() == 1) out += '@' + axes[0];
    if (axes.size() > 1) out += fmt::format("@({})", fmt::join(axes, ","));
  }
  return out + ']';
}

std::string type_string(Dtype dtype, const Shape& shape) { return type_string(dtype, shape, PartitionSpec{}); }

namespace detail {

std::string tuple_string(const Mesh& mesh, const Entries& entries) {
  std::vector<std::string> items;
  for (const auto& entry : entries) {
    std::vector<std::string> names;
    for (const auto axis : entry) names.push_back(fmt::format("'{}'", mesh.axis_names()[axis]));
    if (names.empty()) items.emplace_back("None");
    else if (names.size() == 1) items.push_back(names[0]);
    else items.push_back(fmt::format("({})", fmt::join(names, ", ")));
  }
  return fmt::format("({}{})", fmt::join(items, ", "), items.size() == 1 ? "," : "");
}

namespace {

std::string argument_name(LayoutRule rule, std::size_t position, std::size_t count) {
  static constexpr const char* where_names[] = {"condition", "x", "y"};
  static constexpr const char* clip_names[] = {"x", "lo", "hi"};
  static constexpr const char* pair_names[] = {"x", "y"};
  switch (rule) {
    case LayoutRule::where: if (count == 3) return where_names[position]; break;
    case LayoutRule::clip: if (count == 3) return clip_names[position]; break;
    case LayoutRule::take:
    case LayoutRule::take_along_axis:
    case LayoutRule::gather_get: return position == 0 ? "x" : "indices";
    case LayoutRule::at_set: return position == 0 ? "x" : "update";
    case LayoutRule::dynamic_slice: return position == 0 ? "x" : "start";
    case LayoutRule::dynamic_update_slice: return position == 0 ? "x" : position == 1 ? "update" : "start";
    case LayoutRule::concatenate:
    case LayoutRule::stack: break;
    default: if (count <= 2) return pair_names[position];
  }
  return fmt::format("args[{}]", position);
}

}  // namespace

std::string operands_string(const Question& question) {
  std::vector<std::string> items;
  const auto count = question.operands.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto& x = question.operands[i];
    items.push_back(fmt::format("{}: {}", argument_name(question.rule, i, count), type_string(x.dtype, x.shape, x.spec)));
  }
  return fmt::format("{}", fmt::join(items, ", "));
}

void refuse(const Question& question, const std::string& rule, const std::string& cure) {
  throw ShardingTypeError(fmt::format("{} Operands of {}: {}, on {} over devices {}. {}", rule, question.operation,
                                      operands_string(question), to_string(question.mesh),
                                      to_string(question.mesh.devices()), cure));
}

}  // namespace detail
}  // namespace meshwise

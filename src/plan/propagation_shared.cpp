// Rules that the Auto and the Explicit book share: the result's axes are the operand's, dropped, permuted or new.
#include <algorithm>

#include "plan/propagation_rules.hpp"

namespace meshwise::detail {
namespace {

bool contains(const std::vector<std::int64_t>& axes, std::size_t axis) {
  return std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
}

Entries without(const Entries& entries, const std::vector<std::int64_t>& axes, bool keep_as_whole) {
  Entries out;
  out.reserve(entries.size());
  for (std::size_t d = 0; d < entries.size(); ++d) {
    if (!contains(axes, d)) out.push_back(entries[d]);
    else if (keep_as_whole) out.emplace_back();
  }
  return out;
}

Entries with_new(const Entries& entries, const std::vector<std::int64_t>& axes) {
  Entries out;
  const auto ndim = entries.size() + axes.size();
  std::size_t next = 0;
  for (std::size_t d = 0; d < ndim; ++d) {
    if (contains(axes, d)) out.emplace_back();
    else out.push_back(entries[next++]);
  }
  return out;
}

}  // namespace

Entries follow_axes(const Question& question) {
  const auto& own = question.specs[0];
  const auto& axes = question.attributes.axes;
  switch (question.rule) {
    case LayoutRule::reduce:
    case LayoutRule::arg_reduce: return without(own, axes, question.attributes.keepdims);
    case LayoutRule::squeeze: return without(own, axes, false);
    case LayoutRule::expand_dims: return with_new(own, axes);
    case LayoutRule::broadcast_to: return align(own, question.operands[0].shape, question.result);
    case LayoutRule::transpose: {
      Entries out;
      for (const auto axis : axes) out.push_back(own[static_cast<std::size_t>(axis)]);
      return out;
    }
    default: return own;
  }
}

Entries follow_items(const Question& question) {
  const auto& own = question.specs[0];
  Entries out;
  std::size_t next = 0;
  for (const auto& item : question.attributes.items) {
    if (item.kind == IndexItem::Kind::new_axis) out.emplace_back();
    else if (item.kind == IndexItem::Kind::range) out.push_back(own[next++]);
    else ++next;
  }
  out.insert(out.end(), own.begin() + static_cast<std::ptrdiff_t>(next), own.end());
  return out;
}

Entries around_gathered(const Question& question, std::int64_t axis) {
  auto out = question.specs[0];
  const auto at = out.erase(out.begin() + axis);
  out.insert(at, question.specs[1].size(), Entry{});
  return out;
}

}  // namespace meshwise::detail

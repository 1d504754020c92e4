#include "meshwise/placement/partition_spec.hpp"

#include <array>

#include "meshwise/base/error.hpp"
#include "placement/text.hpp"

namespace meshwise {
namespace {

std::string to_string(const SpecEntry& entry) {
  if (entry.empty()) return "None";
  return entry.axes().size() == 1 ? fmt::format("'{}'", entry.axes()[0]) : detail::names_tuple(entry.axes());
}

}  // namespace

const SpecEntry& PartitionSpec::operator[](std::int64_t axis) const {
  // Never destroyed: static arrays are printed after main has returned.
  static const auto* const whole = new SpecEntry;
  return axis < size() ? entries_[static_cast<std::size_t>(axis)] : *whole;
}

PartitionSpec PartitionSpec::padded(std::int64_t ndim) const {
  for (auto axis = ndim; axis < size(); ++axis)
    if (!(*this)[axis].empty())
      throw PlacementError(fmt::format("{} splits array axis {}, but the array has {}", meshwise::to_string(*this), axis, ndim));
  auto entries = entries_;
  entries.resize(static_cast<std::size_t>(ndim));
  return PartitionSpec(std::move(entries));
}

PartitionSpec P(detail::SpecArgument e0, detail::SpecArgument e1, detail::SpecArgument e2, detail::SpecArgument e3, detail::SpecArgument e4,
                detail::SpecArgument e5, detail::SpecArgument e6, detail::SpecArgument e7) {
  const std::array arguments{&e0, &e1, &e2, &e3, &e4, &e5, &e6, &e7};
  auto count = arguments.size();
  while (count > 0 && !arguments[count - 1]->given) --count;
  std::vector<SpecEntry> entries;
  entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) entries.push_back(std::move(arguments[i]->entry));
  return PartitionSpec(std::move(entries));
}

std::string to_string(const PartitionSpec& spec) {
  std::string text;
  for (const auto& entry : spec.entries()) text += (text.empty() ? "" : ", ") + to_string(entry);
  return fmt::format("P({}{})", text, spec.size() == 1 ? "," : "");
}

}  // namespace meshwise

#pragma once
// How names are printed in messages and specs.

#include <string>
#include <vector>

#include <fmt/format.h>

namespace meshwise::detail {

/// Local. `('data', 'model')`, `('x',)`: as Python prints a tuple of strings.
inline std::string names_tuple(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name);
  return fmt::format("({}{})", text, names.size() == 1 ? "," : "");
}

}  // namespace meshwise::detail

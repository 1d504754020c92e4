#pragma once
// Letters for axes: how every product says what goes with what.

#include <optional>
#include <span>
#include <string>

#include "meshwise/array/array.hpp"

namespace meshwise::detail {

/// Local. A supply of letters that are not in use. Throws: ShapeError after 52.
class Letters {
 public:
  Letters() = default;
  explicit Letters(std::string used) : used_(std::move(used)) {}
  std::string fresh();
  std::string fresh(std::int64_t count);

 private:
  std::string used_{};
};

/// Collective. The operands' product, axes with one letter together, letters that `result` lacks summed, as the operation `name`. An axis of length 1
/// is broadcast against a longer one. Throws: ShapeError naming the letter and both lengths.
Array contract(const char* name, Letters& letters, std::span<const std::string> terms, const std::string& result,
               std::span<const Array> operands, const std::optional<PartitionSpec>& out_sharding);

}  // namespace meshwise::detail

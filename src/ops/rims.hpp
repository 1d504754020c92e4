#pragma once
// What lies around the parts of an array, beside them: a kernel reads regions that reach beyond its own block, and no device has a second copy of that.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "array/dispatch.hpp"
#include "plan/halo.hpp"

namespace meshwise::detail {

class Rims {
 public:
  /// Collective. `reaches` for each axis of x, cut into as many parts as the axis, and within it. What a device lacks comes from those that have it, nothing
  /// else moves. `salt` hashes what the reaches come from.
  Rims(std::string_view operation, const Array& x, const std::vector<Reach>& reaches, std::uint64_t salt);

  /// Local. What a kernel of the rule `blockwise` takes: the array, then the rims there are.
  const std::vector<Operand>& operands() const { return operands_; }
  /// Local. A box of x, not empty, that the device whose block of a result of `shape` begins at `result_box` wants; `in` are its blocks, `own` is where the first lies.
  LocalArray region(std::span<const LocalArray> in, const Index& own, const Index& result_box, const Shape& shape, const Index& wanted) const;

 private:
  std::vector<Operand> operands_{};
  std::vector<std::vector<Reach>> ranges_{};  // of each rim, per axis
};

}  // namespace meshwise::detail

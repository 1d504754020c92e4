#pragma once
// A recipe: an array that is a rule for its values, so that each device makes its own box and nobody the whole.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "meshwise/array/local_array.hpp"
#include "meshwise/base/dtype.hpp"
#include "meshwise/base/shape.hpp"

namespace meshwise::detail {

/// Local. Values by linear index: element i of a conceptual 1-d sequence. Pure, safe to call for any i in range, in any order.
class Generator {
 public:
  virtual ~Generator() = default;
  virtual Dtype dtype() const = 0;
  /// Local. Writes elements first, first + step, ... (count of them) densely at `out`.
  virtual void run(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const = 0;
  /// Local. A hash of the values' rule, the same on every rank.
  virtual std::uint64_t hash() const = 0;
};

/// Local. A strided window on a generator: element at a multi-index is generator element offset + sum(index[d] * strides[d]).
struct Recipe {
  std::shared_ptr<const Generator> generator;
  Shape shape{};
  std::int64_t offset = 0;
  PerAxis<std::int64_t> strides{};

  Dtype dtype() const { return generator->dtype(); }
  /// Local. Writes the values of `box` into `out` (of the box's shape and the recipe's dtype, any strides).
  void fill(const Index& box, const LocalArray& out) const;
  LocalArray make(const Index& box) const;
  std::uint64_t hash() const;

  // Views and casts stay recipes; no bytes exist.
  static Recipe over(std::shared_ptr<const Generator> generator, const Shape& shape);
  Recipe astype(Dtype dtype) const;
  Recipe reshaped(const Shape& shape) const;
  Recipe transposed(const std::vector<std::int64_t>& permutation) const;
  Recipe broadcast_to(const Shape& shape) const;
  /// Local. Per axis: start, step (any sign) and count.
  Recipe sliced(const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& steps, const Shape& counts) const;
};

}  // namespace meshwise::detail

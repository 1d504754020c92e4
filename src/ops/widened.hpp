#pragma once
// Arrays whose devices have what lies around their parts.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "array/dispatch.hpp"
#include "plan/halo.hpp"

namespace meshwise::detail {

/// Local. An array as kernels of the rule `blockwise` read it that want `reaches` of it.
struct Widened {
  Array array{};                 // laid out as the array it was made from; that one itself where no device lacks anything
  std::vector<Reach> reaches{};  // per axis
  bool is_copy = false;

  /// Local. Elements `wanted` of the device whose block of the result is `result_box`, not empty, of a result of `shape`; `in` and `box` are its block of `array`. Dense.
  LocalArray block(const LocalArray& in, const Index& box, const Index& result_box, const Shape& shape) const;
};

/// Collective. An array laid out as x, whose parts have room for the longest range that one wants, and hold what they want; beyond x's ends its elements by the mode, else `fill`.
Array moved_ranges(std::string_view operation, const Array& x, std::span<const Reach> reaches, std::optional<PadMode> mode, const Scalar& fill,
                   std::uint64_t salt);

/// Collective. `reaches` for each axis of x, cut into as many parts as the axis. What a device lacks comes from those that have it, nothing else moves between
/// them; what is beyond the ends is x's elements by the mode, else `fill`. `salt` hashes what the reaches come from.
Widened widened(std::string_view operation, const Array& x, std::vector<Reach> reaches, std::optional<PadMode> mode, const Scalar& fill,
                std::uint64_t salt);

}  // namespace meshwise::detail

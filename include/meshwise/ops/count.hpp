#pragma once
// How often values occur: each device counts its own elements, the devices add up.

#include <cstdint>
#include <optional>
#include <utility>

#include "meshwise/array/array.hpp"

namespace meshwise {

/// Collective with `length`, else Synchronising. Of integers x [n], which are not negative, how often each occurs -> int32[k], or the sum of its weights, in their dtype: k is
/// `length` (larger elements are left out), or what the largest needs, at least `minlength`. Negative elements count as 0. Throws: ShapeError, DtypeError.
Array bincount(const Array& x, const std::optional<Array>& weights = {}, std::int64_t minlength = 0,
               std::optional<std::int64_t> length = {});

struct Histogram {
  Array counts, edges;
};
/// Collective, or Synchronising without a range. How many elements lie in each of `bins` equal intervals between the least and the largest element, or of the range -> float32[bins], and the
/// intervals' edges [bins + 1]; the last interval has both of its ends. Or between given ascending edges. Elements beside them count nowhere. With weights, their sums.
Histogram histogram(const Array& x, std::int64_t bins = 10, std::optional<std::pair<double, double>> range = {},
                    const std::optional<Array>& weights = {});
Histogram histogram(const Array& x, const Array& edges, const std::optional<Array>& weights = {});

}  // namespace meshwise

#pragma once
// Computations on a neighbourhood: each device has its part and the rim that its neighbours hold, and nothing else moves.
//
//   stencil(float32[1000@x,64], {{1, 1}, {0, 0}}, f): f sees (252, 64) on each of 4 devices and returns (250, 64); two rows move for each.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "meshwise/array/array.hpp"
#include "meshwise/plan/pad_mode.hpp"

namespace meshwise {

/// Collective. x's elements moved by n along an axis, so that element i + n of the result is x's element i: what leaves at one end is lost, `fill` enters at the other.
/// Throws: IndexError for an axis out of range; DtypeError for a fill that does not fit. roll lets what leaves enter.
Array shift(const Array& x, std::int64_t n, std::int64_t axis, const Scalar& fill = 0);

struct StencilOptions {
  std::optional<PadMode> boundary{};  // what stands beyond the ends of x; `fill` if absent
  Scalar fill = 0;
  std::optional<Dtype> dtype{};  // of f's results; x's if absent
};
/// Collective. An array of x's shape and layout, of which f makes each device's part [n0, n1, ...] from that part with widths[d].first elements before and .second
/// after it along axis d, dense; f calls nothing Collective, and is not called for an empty part. Throws: ShapeError unless one pair an axis, none negative. What f
/// throws, and ShapeError or DtypeError for a result of another shape or dtype, is its rank's failure: the others throw CollectiveError with its words.
Array stencil(const Array& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
              const std::function<LocalArray(const LocalArray&)>& f, const StencilOptions& options = {});
/// Collective. The same of several arrays of one shape, which are brought to where an elementwise operation would compute; dtype: the first one's if absent. Throws:
/// ShapeError, CommitmentError, ShardingTypeError too.
Array stencil(const std::vector<Array>& arrays, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
              const std::function<LocalArray(std::span<const LocalArray>)>& f, const StencilOptions& options = {});

}  // namespace meshwise

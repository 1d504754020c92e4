#include "ops/kernels/scatter.hpp"

#include "ops/kernels/elementwise_entry.hpp"
#include "ops/kernels/sort_keys.hpp"

namespace meshwise::detail {

namespace {

// NaN where either is, as maximum and minimum.
template <class T>
T larger(T a, T b, bool want_larger) {
  if (is_nan(a)) return a;
  if (is_nan(b)) return b;
  return comes_before(a, b) == want_larger ? b : a;
}

template <class T>
T combined(ScatterOp op, T a, T b) {
  if (op == ScatterOp::set) return b;
  if (op == ScatterOp::max || op == ScatterOp::min) {
    if constexpr (is_complex_v<T>)
      return comes_before(a, b) == (op == ScatterOp::max) ? b : a;
    else
      return larger(a, b, op == ScatterOp::max);
  }
  if constexpr (std::same_as<T, bool>) {
    return op == ScatterOp::multiply ? a && b : op == ScatterOp::add ? a || b : a != b;
  } else if constexpr (std::integral<T>) {
    const auto x = wrapping(a), y = wrapping(b);
    return static_cast<T>(op == ScatterOp::add ? x + y : op == ScatterOp::subtract ? x - y : x * y);
  } else if constexpr (is_half_v<T>) {
    return T(combined(op, static_cast<float>(a), static_cast<float>(b)));
  } else {
    return op == ScatterOp::add ? a + b : op == ScatterOp::subtract ? a - b : a * b;
  }
}

}  // namespace

void run_scatter(ScatterOp op, const LocalArray& block, const LocalArray& update, const ScatterPlaces& places) {
  visit(block.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* const to = reinterpret_cast<T*>(block.data());
    const auto* const from = reinterpret_cast<const T*>(update.data());
    for (const auto& outer : places.outer)
      for (const auto& middle : places.middle)
        for (const auto& inner : places.inner) {
          auto& element = to[outer.block + middle.block + inner.block];
          element = combined(op, element, from[outer.update + middle.update + inner.update]);
        }
  });
}

}  // namespace meshwise::detail

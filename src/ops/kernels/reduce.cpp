// The runner of all reductions: walks a block in the order that touches memory best.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>
#include <span>

#include "array/convert.hpp"
#include "ops/kernels/reduce_op.hpp"

namespace meshwise::detail {

namespace {

struct Axis {
  std::int64_t length, stride, index_step;
};

/// Shorter rows are not worth a loop each.
constexpr std::int64_t least_row = 8;

void push_folded(std::vector<Axis>& axes, Axis next) {
  if (next.length == 1) return;
  if (!axes.empty()) {
    auto& last = axes.back();
    if (last.stride == next.stride * next.length && last.index_step == next.index_step * next.length) {
      last = {last.length * next.length, next.stride, next.index_step};
      return;
    }
  }
  axes.push_back(next);
}

/// Calls f(offset, index) for every point of `axes`, in row-major order.
template <class F>
void for_each_point(std::span<const Axis> axes, F&& f) {
  std::vector<std::int64_t> at(axes.size(), 0);
  std::int64_t offset = 0, index = 0;
  while (true) {
    f(offset, index);
    auto axis = axes.size();
    while (true) {
      if (axis == 0) return;
      --axis;
      offset += axes[axis].stride;
      index += axes[axis].index_step;
      if (++at[axis] < axes[axis].length) break;
      offset -= axes[axis].length * axes[axis].stride;
      index -= axes[axis].length * axes[axis].index_step;
      at[axis] = 0;
    }
  }
}

class Reducer {
 public:
  Reducer(const ReduceOp& op, const LocalArray& x, const ReducePlan& plan)
      : slot_(op.slot(x.dtype())), base_(x.data()), width_(static_cast<std::int64_t>(itemsize(x.dtype()))), first_(plan.first_index) {
    std::vector<Axis> reduced;
    for (std::int64_t d = 0; d < x.ndim(); ++d) {
      const auto i = static_cast<std::size_t>(d);
      if (plan.reduced[i])
        reduced.push_back({x.shape()[d], x.strides()[i], plan.index_steps[i]});
      else
        push_folded(kept_, {x.shape()[d], x.strides()[i], 0});
    }
    std::stable_sort(reduced.begin(), reduced.end(), [](const Axis& a, const Axis& b) { return std::abs(a.stride) > std::abs(b.stride); });
    for (const auto& axis : reduced) push_folded(reduced_, axis);
    if (reduced_.empty()) reduced_.push_back({1, 1, 0});
  }

  void run(std::byte* out) const {
    const bool rows =
        !kept_.empty() && kept_.back().length >= least_row && std::abs(kept_.back().stride) < std::abs(reduced_.back().stride);
    if (rows || (!kept_.empty() && reduced_.back().length == 1))
      by_rows(out);
    else
      by_runs(out);
  }

 private:
  const std::byte* at(std::int64_t offset) const { return base_ + offset * width_; }

  void by_runs(std::byte* out) const {
    const auto inner = reduced_.back();
    const std::span<const Axis> outer(reduced_.data(), reduced_.size() - 1);
    const auto last = kept_.empty() ? Axis{1, 0, 0} : kept_.back();
    const std::span<const Axis> before(kept_.data(), kept_.empty() ? 0 : kept_.size() - 1);
    for_each_point(before, [&](std::int64_t kept, std::int64_t) {
      for_each_point(outer, [&](std::int64_t offset, std::int64_t index) {
        slot_.runs(at(kept + offset), inner.stride, inner.length, last.length, last.stride, out, first_ + index, inner.index_step);
      });
      out += static_cast<std::size_t>(last.length) * slot_.width;
    });
  }

  void by_rows(std::byte* out) const {
    const auto row = kept_.back(), down = reduced_.back();
    const std::span<const Axis> outer(kept_.data(), kept_.size() - 1), above(reduced_.data(), reduced_.size() - 1);
    for_each_point(outer, [&](std::int64_t kept, std::int64_t) {
      for (std::int64_t column = 0; column < row.length; column += row_tile) {
        const auto count = std::min(row_tile, row.length - column);
        for_each_point(above, [&](std::int64_t offset, std::int64_t index) {
          for (std::int64_t r = 0; r < down.length; r += row_group)
            slot_.rows(at(kept + offset + column * row.stride + r * down.stride), row.stride, count, std::min(row_group, down.length - r),
                       down.stride, out, first_ + index + r * down.index_step, down.index_step);
        });
        out += static_cast<std::size_t>(count) * slot_.width;
      }
    });
  }

  const ReduceSlot& slot_;
  const std::byte* base_;
  std::int64_t width_, first_;
  std::vector<Axis> kept_{}, reduced_{};
};

/// Totals of 16-bit floats are rounded from double in one step; astype goes by float, as JAX does.
void round_once(const LocalArray& totals, LocalArray& out) {
  const auto* in = reinterpret_cast<const double*>(totals.data());
  for (std::int64_t i = 0; i < totals.size(); ++i) {
    if (out.dtype() == Dtype::float16)
      reinterpret_cast<float16_t*>(out.data())[i] = float16_t::from(in[i]);
    else
      reinterpret_cast<bfloat16_t*>(out.data())[i] = bfloat16_t::from(in[i]);
  }
}

}  // namespace

LocalArray run_reduce(const ReduceOp& op, const LocalArray& x, const ReducePlan& plan, const Shape& shape) {
  const auto& slot = op.slot(x.dtype());
  LocalArray out(shape, slot.accumulator);
  slot.clear(out.data(), out.size());
  if (x.size() > 0) Reducer(op, x, plan).run(out.data());
  return out;
}

LocalArray finish_totals(const LocalArray& accumulators, std::int64_t count, Dtype dtype) {
  LocalArray divided = accumulators;
  if (count != 1) {
    divided = LocalArray(accumulators.shape(), accumulators.dtype());
    const auto n = static_cast<double>(count);
    const auto divide = [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto* in = reinterpret_cast<const T*>(accumulators.data());
      auto* out = reinterpret_cast<T*>(divided.data());
      for (std::int64_t i = 0; i < accumulators.size(); ++i) out[i] = in[i] / n;
    };
    if (accumulators.dtype() == Dtype::complex128)
      divide(type_tag<std::complex<double>>{});
    else
      divide(type_tag<double>{});
  }
  if (divided.dtype() == dtype) return divided;
  LocalArray out(divided.shape(), dtype);
  if (divided.dtype() == Dtype::float64 && (dtype == Dtype::float16 || dtype == Dtype::bfloat16)) {
    round_once(divided, out);
    return out;
  }
  convert_values(divided.dtype(), divided.data(), dtype, out.data(), divided.size());
  return out;
}

LocalArray finish_extremes(const LocalArray& orders, Dtype dtype) {
  LocalArray out(orders.shape(), dtype);
  visit(orders.dtype(), [&](auto tag) {
    using K = typename decltype(tag)::type;
    if constexpr (std::signed_integral<K> && sizeof(K) > 1) {
      const auto* in = reinterpret_cast<const K*>(orders.data());
      auto* bits = reinterpret_cast<K*>(out.data());
      constexpr K all = std::numeric_limits<K>::max();
      // Both ends of the order are NaN; the sign bit goes, so that it prints like any other.
      for (std::int64_t i = 0; i < orders.size(); ++i)
        bits[i] = in[i] == std::numeric_limits<K>::min() ? all : static_cast<K>(in[i] ^ ((in[i] >> (8 * sizeof(K) - 1)) & all));
    }
  });
  return out;
}

LocalArray finish_positions(const LocalArray& candidates, Dtype dtype) {
  LocalArray out(candidates.shape(), dtype);
  const auto* numbers = reinterpret_cast<const std::int64_t*>(candidates.data());
  for (std::int64_t i = 0; i < candidates.size(); ++i) {
    const auto number = numbers[2 * i + 1];
    if (dtype == Dtype::int64)
      reinterpret_cast<std::int64_t*>(out.data())[i] = number;
    else
      reinterpret_cast<std::int32_t*>(out.data())[i] = static_cast<std::int32_t>(number);
  }
  return out;
}

}  // namespace meshwise::detail

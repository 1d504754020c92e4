#include "meshwise/ops/count.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "array/dispatch.hpp"
#include "meshwise/array/create.hpp"
#include "meshwise/array/device_put.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/ops/deterministic.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "meshwise/ops/reduce.hpp"
#include "meshwise/ops/sort.hpp"
#include "ops/index_dtype.hpp"
#include "ops/index_plan.hpp"
#include "ops/inexact.hpp"
#include "ops/kernels/elementwise_op.hpp"
#include "ops/kernels/reduce_op.hpp"

namespace meshwise {

namespace {

// Sums of the weights of equal numbers (or how many there are), in the dtype in which sums are kept.
LocalArray sums_by_number(const LocalArray& numbers, const LocalArray* weights, std::int64_t length, Dtype accumulator) {
  const auto at = numbers.contiguous();
  const auto weighed = weights != nullptr ? detail::run_astype(*weights, accumulator).contiguous() : LocalArray();
  LocalArray out(Shape{length}, accumulator);
  visit(accumulator, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::same_as<T, bool> && !std::same_as<T, float16_t> && !std::same_as<T, bfloat16_t>) {
      auto* const sums = reinterpret_cast<T*>(out.data());
      std::fill_n(sums, length, T{});
      const auto* const weight = reinterpret_cast<const T*>(weighed.data());
      const auto* const number = reinterpret_cast<const std::int64_t*>(at.data());
      for (std::int64_t i = 0; i < at.size(); ++i)
        if (const auto n = std::max<std::int64_t>(number[i], 0); n < length)
          sums[n] = static_cast<T>(sums[n] + (weight ? weight[i] : T(1)));
    }
  });
  return out;
}

Dtype inexact(Dtype dtype) { return detail::work_dtype(detail::WorkRule::inexact, dtype); }

}  // namespace

Array bincount(const Array& x, const std::optional<Array>& weights, std::int64_t minlength, std::optional<std::int64_t> length) {
  if (x.ndim() != 1) throw ShapeError(fmt::format("bincount: argument x is {}; it has one axis", type_string(x)));
  if (!is_integer(x.dtype()) && x.dtype() != bool_)
    throw DtypeError(fmt::format("bincount: argument x is {}; integers are counted", type_string(x)));
  if (weights && !(weights->shape() == x.shape()))
    throw ShapeError(
        fmt::format("bincount: argument weights is {}, and x is {}: an element has a weight", type_string(*weights), type_string(x)));
  if (minlength < 0 || length.value_or(0) < 0) throw ShapeError("bincount: a length is not negative");
  const auto numbers = detail::wide_indices(x);
  if (!length) length = std::max(minlength, x.size() == 0 ? 0 : std::max<std::int64_t>(max(numbers).item<std::int64_t>(), 0) + 1);
  const auto dtype = weights ? weights->dtype() : detail::index_dtype(x.size());
  const auto& total = detail::op::sum.slot(dtype);
  // Sums over whole arrays, one after the other, are the same everywhere.
  const auto summable = [&](const Array& a) {
    return weights && is_deterministic() && detail::is_inexact(weights->dtype()) && a.committed() ? reshard(a, P()) : a;
  };
  std::vector<Operand> operands{summable(numbers)};
  if (weights) operands.emplace_back(summable(*weights));
  detail::Request request;
  request.operation = "bincount";
  request.rule = LayoutRule::reduce;
  request.attributes.axes = {0};
  request.attributes.keepdims = true;
  request.operands = operands;
  request.shape = {*length};
  request.dtype = dtype;
  request.kernel = [bins = *length, sums = total.accumulator](std::span<const LocalArray> in, const detail::KernelContext&) {
    return sums_by_number(in[0], in.size() > 1 ? &in[1] : nullptr, bins, sums);
  };
  detail::Reduction reduction;
  reduction.combine = total.merge;
  reduction.finish = [dtype](const LocalArray& sums) { return detail::finish_totals(sums, 1, dtype); };
  request.reduction = std::move(reduction);
  return detail::dispatch(request);
}

Histogram histogram(const Array& x, const Array& edges, const std::optional<Array>& weights) {
  if (edges.ndim() != 1 || edges.size() < 2)
    throw ShapeError(fmt::format("histogram: argument edges is {}; there are two or more, along one axis", type_string(edges)));
  const auto dtype = inexact(promote_types(x.dtype(), edges.dtype()));
  const auto values = reshape(x, {-1}).astype(dtype), limits = edges.astype(dtype);
  const auto n = edges.size();
  const auto first = limits[0], last = limits[n - 1];
  // The number of the interval, from 1; beyond the last edge, and for NaN, n.
  const auto number = where(equal(values, last), n - 1, searchsorted(limits, values, Side::right));
  const auto inside = logical_not(logical_or(less(values, first), greater(values, last)));
  const auto weight = weights ? reshape(*weights, {-1}) : ones_like(values);
  const auto counts = bincount(number, where(inside, weight, zeros_like(weight)), 0, n);
  return {counts[Slice(1, none)], limits};
}

Histogram histogram(const Array& x, std::int64_t bins, std::optional<std::pair<double, double>> range,
                    const std::optional<Array>& weights) {
  if (bins < 1) throw ShapeError(fmt::format("histogram: there is at least one bin, not {}", bins));
  const auto dtype = inexact(x.dtype());
  if (!range) {
    const auto wide = x.astype(float64);
    range = x.size() == 0 ? std::pair(0.0, 1.0) : std::pair(min(wide).item<double>(), max(wide).item<double>());
  }
  auto [low, high] = *range;
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  return histogram(x, linspace(low, high, bins + 1, true, dtype), weights);
}

}  // namespace meshwise

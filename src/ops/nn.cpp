#include "meshwise/ops/nn.hpp"

#include "meshwise/array/create.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "meshwise/ops/operators.hpp"
#include "meshwise/ops/reduce.hpp"
#include "ops/kernels/elementwise_op.hpp"

namespace meshwise {

namespace {

Array inexact(const Array& x) { return x.astype(detail::work_dtype(detail::WorkRule::inexact, x.dtype())); }

// The largest along the axes, to be taken away; 0 where that is no number, or nothing is left of infinity.
Array finite_max(const Array& x, const std::vector<std::int64_t>& axes) {
  const auto largest = max(x, axes, true);
  return where(isfinite(largest), largest, zeros_like(largest));
}

}  // namespace

Array logsumexp(const Array& x, const std::vector<std::int64_t>& axes, bool keepdims) {
  const auto values = inexact(x);
  const auto largest = finite_max(values, axes);
  const auto logs = log(sum(exp(values - largest), axes, true)) + largest;
  if (keepdims) return logs;
  auto gone = axes;
  if (gone.empty())
    for (std::int64_t d = 0; d < x.ndim(); ++d) gone.push_back(d);
  return x.ndim() == 0 ? logs : squeeze(logs, gone);
}

Array softmax(const Array& x, std::int64_t axis) {
  const auto values = inexact(x);
  const auto powers = exp(values - max(values, {axis}, true));
  return powers / sum(powers, {axis}, true);
}

Array log_softmax(const Array& x, std::int64_t axis) {
  const auto values = inexact(x);
  const auto shifted = values - max(values, {axis}, true);
  return shifted - log(sum(exp(shifted), {axis}, true));
}

Array one_hot(const Array& x, std::int64_t classes, Dtype dtype) { return equal(expand_dims(x, x.ndim()), arange(classes)).astype(dtype); }

Array relu(const Array& x) { return maximum(x, 0); }

Array gelu(const Array& x) {
  constexpr double root = 0.7978845608028654;  // sqrt(2 / pi)
  const auto values = inexact(x);
  return values * 0.5 * (1.0 + tanh(root * (values + 0.044715 * values * values * values)));
}

Array sigmoid(const Array& x) {
  const auto values = inexact(x);
  return 1.0 / (1.0 + exp(negative(values)));
}

}  // namespace meshwise

#include "meshwise/ops/nn.hpp"

#include "meshwise/array/create.hpp"
#include "meshwise/ops/deterministic.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "meshwise/ops/operators.hpp"
#include "meshwise/ops/reduce.hpp"
#include "ops/kernels/elementwise_op.hpp"
#include "ops/tiles.hpp"

namespace meshwise {

namespace {

// The largest along the axes, to be taken away; 0 where that is no number, or nothing is left of infinity.
Array finite_max(const Array& x, const std::vector<std::int64_t>& axes) {
  const auto largest = max(x, axes, true);
  if (!is_floating(x.dtype())) return largest;
  return where(isfinite(largest), largest, zeros_like(largest));
}

}  // namespace

namespace {

using detail::step;
namespace op = detail::op;

// sum(exp(x - shift)) and what follows from it, of any real x; 16-bit floats work in float32.
struct Powers {
  Dtype result, work;
  explicit Powers(Dtype dtype) : result(detail::work_dtype(detail::WorkRule::inexact, dtype)), work(itemsize(result) == 2 ? float32 : result) {}

  LocalArray shifted(const LocalArray& x, const LocalArray& shift) const {
    return step(op::subtract, work, detail::run_astype(x, work), detail::run_astype(shift, work));
  }
  Array sums(const char* name, const Array& x, const Array& shift, const std::vector<std::int64_t>& axes) const {
    // The deterministic sum looks at all its elements first.
    if (is_deterministic()) return sum(exp(x.astype(work) - shift.astype(work)), axes, true);
    return detail::sum_tiles(name, x, shift, axes, true, work, work, [*this](std::span<const LocalArray> in) { return step(op::exp, work, shifted(in[0], in[1])); });
  }
};

}  // namespace

Array logsumexp(const Array& x, const std::vector<std::int64_t>& axes, bool keepdims) {
  const Powers powers(x.dtype());
  const auto largest = finite_max(x, axes);
  const auto logs = (log(powers.sums("logsumexp", x, largest, axes)) + largest.astype(powers.work)).astype(powers.result);
  if (keepdims) return logs;
  auto gone = axes;
  if (gone.empty())
    for (std::int64_t d = 0; d < x.ndim(); ++d) gone.push_back(d);
  return x.ndim() == 0 ? logs : squeeze(logs, gone);
}

Array softmax(const Array& x, std::int64_t axis) {
  const Powers powers(x.dtype());
  const auto largest = max(x, {axis}, true);
  return detail::map_tiles("softmax", {x, largest, powers.sums("softmax", x, largest, {axis})}, powers.result, [powers](std::span<const LocalArray> in) {
    return detail::run_astype(step(op::divide, powers.work, step(op::exp, powers.work, powers.shifted(in[0], in[1])), in[2]), powers.result);
  });
}

Array log_softmax(const Array& x, std::int64_t axis) {
  const Powers powers(x.dtype());
  const auto largest = max(x, {axis}, true);
  return detail::map_tiles("log_softmax", {x, largest, log(powers.sums("log_softmax", x, largest, {axis}))}, powers.result, [powers](std::span<const LocalArray> in) {
    return detail::run_astype(step(op::subtract, powers.work, powers.shifted(in[0], in[1]), in[2]), powers.result);
  });
}

Array one_hot(const Array& x, std::int64_t classes, Dtype dtype) { return equal(expand_dims(x, x.ndim()), arange(classes)).astype(dtype); }

Array relu(const Array& x) { return maximum(x, 0); }

Array gelu(const Array& x) {
  constexpr double root = 0.7978845608028654;  // sqrt(2 / pi)
  const Powers in(x.dtype());
  return detail::map_tiles("gelu", {x}, in.result, [in](std::span<const LocalArray> tiles) {
    const auto number = [&](double value) { return detail::literal(value, in.work); };
    const auto v = detail::run_astype(tiles[0], in.work);
    const auto cube = step(op::multiply, in.work, step(op::multiply, in.work, v, v), v);
    const auto inner = step(op::multiply, in.work, number(root), step(op::add, in.work, v, step(op::multiply, in.work, number(0.044715), cube)));
    const auto gate = step(op::add, in.work, number(1), step(op::tanh, in.work, inner));
    return detail::run_astype(step(op::multiply, in.work, step(op::multiply, in.work, v, number(0.5)), gate), in.result);
  });
}

Array sigmoid(const Array& x) {
  const Powers in(x.dtype());
  return detail::map_tiles("sigmoid", {x}, in.result, [in](std::span<const LocalArray> tiles) {
    const auto one = detail::literal(1, in.work);
    const auto power = step(op::exp, in.work, step(op::negative, in.work, detail::run_astype(tiles[0], in.work)));
    return detail::run_astype(step(op::divide, in.work, one, step(op::add, in.work, one, power)), in.result);
  });
}

}  // namespace meshwise

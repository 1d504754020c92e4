#include "meshwise/ops/elementwise.hpp"

#include "ops/apply.hpp"

namespace meshwise {

using detail::apply;
namespace op = detail::op;

Array add(const Operand& x, const Operand& y) { return apply(op::add, x, y); }
Array subtract(const Operand& x, const Operand& y) { return apply(op::subtract, x, y); }
Array multiply(const Operand& x, const Operand& y) { return apply(op::multiply, x, y); }
Array divide(const Operand& x, const Operand& y) { return apply(op::divide, x, y); }
Array floor_divide(const Operand& x, const Operand& y) { return apply(op::floor_divide, x, y); }
Array remainder(const Operand& x, const Operand& y) { return apply(op::remainder, x, y); }
Array pow(const Operand& x, const Operand& y) { return apply(op::pow, x, y); }
Array maximum(const Operand& x, const Operand& y) { return apply(op::maximum, x, y); }
Array minimum(const Operand& x, const Operand& y) { return apply(op::minimum, x, y); }
Array hypot(const Operand& x, const Operand& y) { return apply(op::hypot, x, y); }
Array logaddexp(const Operand& x, const Operand& y) { return apply(op::logaddexp, x, y); }
Array copysign(const Operand& x, const Operand& y) { return apply(op::copysign, x, y); }
Array nextafter(const Operand& x, const Operand& y) { return apply(op::nextafter, x, y); }
Array equal(const Operand& x, const Operand& y) { return apply(op::equal, x, y); }
Array not_equal(const Operand& x, const Operand& y) { return apply(op::not_equal, x, y); }
Array less(const Operand& x, const Operand& y) { return apply(op::less, x, y); }
Array less_equal(const Operand& x, const Operand& y) { return apply(op::less_equal, x, y); }
Array greater(const Operand& x, const Operand& y) { return apply(op::greater, x, y); }
Array greater_equal(const Operand& x, const Operand& y) { return apply(op::greater_equal, x, y); }
Array logical_and(const Operand& x, const Operand& y) { return apply(op::logical_and, x, y); }
Array logical_or(const Operand& x, const Operand& y) { return apply(op::logical_or, x, y); }
Array logical_xor(const Operand& x, const Operand& y) { return apply(op::logical_xor, x, y); }
Array bitwise_and(const Operand& x, const Operand& y) { return apply(op::bitwise_and, x, y); }
Array bitwise_or(const Operand& x, const Operand& y) { return apply(op::bitwise_or, x, y); }
Array bitwise_xor(const Operand& x, const Operand& y) { return apply(op::bitwise_xor, x, y); }
Array bitwise_left_shift(const Operand& x, const Operand& y) { return apply(op::bitwise_left_shift, x, y); }
Array bitwise_right_shift(const Operand& x, const Operand& y) { return apply(op::bitwise_right_shift, x, y); }
Array atan2(const Operand& y, const Operand& x) { return apply(op::atan2, y, x); }

Array logical_not(const Array& x) { return apply(op::logical_not, x); }
Array bitwise_invert(const Array& x) { return apply(op::bitwise_invert, x); }
Array negative(const Array& x) { return apply(op::negative, x); }
Array positive(const Array& x) { return apply(op::positive, x); }
Array abs(const Array& x) { return apply(op::abs, x); }
Array sign(const Array& x) { return apply(op::sign, x); }
Array square(const Array& x) { return apply(op::square, x); }
Array reciprocal(const Array& x) { return apply(op::reciprocal, x); }
Array floor(const Array& x) { return apply(op::floor, x); }
Array ceil(const Array& x) { return apply(op::ceil, x); }
Array round(const Array& x) { return apply(op::round, x); }
Array trunc(const Array& x) { return apply(op::trunc, x); }
Array real(const Array& x) { return apply(op::real, x); }
Array imag(const Array& x) { return apply(op::imag, x); }
Array conj(const Array& x) { return apply(op::conj, x); }
Array isnan(const Array& x) { return apply(op::isnan, x); }
Array isinf(const Array& x) { return apply(op::isinf, x); }
Array isfinite(const Array& x) { return apply(op::isfinite, x); }
Array signbit(const Array& x) { return apply(op::signbit, x); }
Array sqrt(const Array& x) { return apply(op::sqrt, x); }
Array exp(const Array& x) { return apply(op::exp, x); }
Array expm1(const Array& x) { return apply(op::expm1, x); }
Array log(const Array& x) { return apply(op::log, x); }
Array log1p(const Array& x) { return apply(op::log1p, x); }
Array log2(const Array& x) { return apply(op::log2, x); }
Array log10(const Array& x) { return apply(op::log10, x); }
Array sin(const Array& x) { return apply(op::sin, x); }
Array cos(const Array& x) { return apply(op::cos, x); }
Array tan(const Array& x) { return apply(op::tan, x); }
Array asin(const Array& x) { return apply(op::asin, x); }
Array acos(const Array& x) { return apply(op::acos, x); }
Array atan(const Array& x) { return apply(op::atan, x); }
Array sinh(const Array& x) { return apply(op::sinh, x); }
Array cosh(const Array& x) { return apply(op::cosh, x); }
Array tanh(const Array& x) { return apply(op::tanh, x); }
Array asinh(const Array& x) { return apply(op::asinh, x); }
Array acosh(const Array& x) { return apply(op::acosh, x); }
Array atanh(const Array& x) { return apply(op::atanh, x); }

Array where(const Operand& condition, const Operand& x, const Operand& y) {
  const Operand operands[] = {condition, x, y};
  return apply(op::where, LayoutRule::where, "where", operands);
}

Array clip(const Array& x, const std::optional<Operand>& low, const std::optional<Operand>& high) {
  if (low && high) {
    const Operand operands[] = {x, *low, *high};
    return apply(op::clip, LayoutRule::clip, "clip", operands);
  }
  if (!low && !high) return astype(x, x.dtype());
  const Operand operands[] = {x, low ? *low : *high};
  return apply(low ? op::clip_below : op::clip_above, LayoutRule::elementwise, "clip", operands);
}

Array astype(const Array& x, Dtype dtype) {
  if (x.dtype() == dtype) {
    detail::check_alive(x, "astype", "x");
    return x;
  }
  const Operand operands[] = {x};
  detail::Request request;
  request.operation = "astype";
  request.operands = operands;
  request.shape = x.shape();
  request.dtype = dtype;
  request.kernel = [dtype](std::span<const LocalArray> inputs, const detail::KernelContext&) {
    return detail::run_astype(inputs[0], dtype);
  };
  request.tiling = detail::Tiling::map;
  request.as_recipe = [dtype](const detail::Recipe& recipe) { return recipe.astype(dtype); };
  return detail::dispatch(request);
}

Array Array::astype(Dtype dtype) const { return meshwise::astype(*this, dtype); }

}  // namespace meshwise

#include <bit>
#include <cmath>
#include <limits>

#include "ops/kernels/elementwise_entry.hpp"

namespace meshwise::detail::op {
namespace {

using C128 = std::complex<double>;

// complex64 computes in complex128 and rounds once: the library functions lose several units where parts cancel.
template <class T, class F>
T by_double(T x, F&& f) {
  if constexpr (std::same_as<T, std::complex<float>>)
    return T(f(C128(x)));
  else
    return f(x);
}

C128 expm1_of(C128 z) {
  const double s = std::sin(z.imag() / 2), e = std::expm1(z.real());
  // e^a cos b - 1 = (e^a - 1) cos b - 2 sin^2(b / 2), with no cancellation near 0.
  return {e * std::cos(z.imag()) - 2 * s * s, std::exp(z.real()) * std::sin(z.imag())};
}

C128 log1p_of(C128 z) {
  const double a = z.real(), b = z.imag(), m = a * (2 + a) + b * b;
  const auto big = std::log(C128(1 + a, b));
  return std::abs(z) < 0.5 ? C128(0.5 * std::log1p(m), std::atan2(b, 1 + a)) : big;
}

// Rounding by addition: above this magnitude every float is an integer, and the sum is rounded to one. The library's functions
// are calls where the instruction set has no rounding; this vectorises everywhere.
template <class T>
constexpr T all_integers = T{1} / std::numeric_limits<T>::epsilon();

template <class T>
T nearest(T x) {
  if constexpr (std::integral<T>) {
    return x;
  } else if constexpr (is_complex_v<T>) {
    return T(nearest(x.real()), nearest(x.imag()));
  } else {
    const T size = std::abs(x), r = (size + all_integers<T>)-all_integers<T>;
    return size < all_integers<T> ? std::copysign(r, x) : x;
  }
}
template <class T>
T below(T x) {
  if constexpr (!std::floating_point<T>)
    return x;
  else
    return std::copysign(nearest(x) > x ? nearest(x) - 1 : nearest(x), x);
}
template <class T>
T above(T x) {
  if constexpr (!std::floating_point<T>)
    return x;
  else
    return std::copysign(nearest(x) < x ? nearest(x) + 1 : nearest(x), x);
}
template <class T>
T towards_zero(T x) {
  if constexpr (!std::floating_point<T>)
    return x;
  else
    return std::copysign(below(std::abs(x)), x);
}

C128 log_add_exp(C128 x, C128 y) { return x.real() >= y.real() ? x + log1p_of(std::exp(y - x)) : y + log1p_of(std::exp(x - y)); }

// The angle t of (x, y) = r (cos t, sin t), r = sqrt(x^2 + y^2).
C128 angle(C128 y, C128 x) { return C128(0, -1) * std::log((x + C128(0, 1) * y) / std::sqrt(x * x + y * y)); }

template <class T>
T log_add_exp(T x, T y) {
  if (x == y) return x + static_cast<T>(0.693147180559945309417232121458176568L);  // infinities too, whose difference is NaN
  const T d = x - y;
  return d > 0 ? x + std::log1p(std::exp(-d)) : d <= 0 ? y + std::log1p(std::exp(d)) : x + y;
}

// On the bits: 16-bit floats have neighbours of their own.
template <class T>
T next_half(T x, T y) {
  const auto a = static_cast<float>(x), b = static_cast<float>(y);
  if (a != a || b != b) return T(a + b);
  if (a == b) return y;
  T r = x;
  if (a == 0)
    r.bits = static_cast<std::uint16_t>((y.bits & 0x8000u) | 1u);
  else
    r.bits = static_cast<std::uint16_t>((a < b) == (a > 0) ? x.bits + 1 : x.bits - 1);
  return r;
}

using Rounded = Join<Booleans, Reals>;

}  // namespace

constinit const ElementwiseOp sqrt =
    unary(Inexact{}, "sqrt", WorkRule::inexact, [](auto x) { return by_double(x, [](auto v) { return std::sqrt(v); }); });
constinit const ElementwiseOp exp =
    unary(Inexact{}, "exp", WorkRule::inexact, [](auto x) { return by_double(x, [](auto v) { return std::exp(v); }); });
constinit const ElementwiseOp expm1 = unary(Inexact{}, "expm1", WorkRule::inexact, [](auto x) {
  if constexpr (is_complex_v<decltype(x)>)
    return by_double(x, expm1_of);
  else
    return std::expm1(x);
});
constinit const ElementwiseOp log =
    unary(Inexact{}, "log", WorkRule::inexact, [](auto x) { return by_double(x, [](auto v) { return std::log(v); }); });
constinit const ElementwiseOp log1p = unary(Inexact{}, "log1p", WorkRule::inexact, [](auto x) {
  if constexpr (is_complex_v<decltype(x)>)
    return by_double(x, log1p_of);
  else
    return std::log1p(x);
});
constinit const ElementwiseOp log2 = unary(Inexact{}, "log2", WorkRule::inexact, [](auto x) {
  if constexpr (is_complex_v<decltype(x)>)
    return by_double(x, [](C128 v) {
      const auto r = std::log(v);
      return C128(r.real() / 0.693147180559945309417, r.imag() / 0.693147180559945309417);
    });
  else
    return std::log2(x);
});
constinit const ElementwiseOp log10 =
    unary(Inexact{}, "log10", WorkRule::inexact, [](auto x) { return by_double(x, [](auto v) { return std::log10(v); }); });

constinit const ElementwiseOp floor = unary(Rounded{}, "floor", WorkRule::same, [](auto x) { return below(x); });
constinit const ElementwiseOp ceil = unary(Rounded{}, "ceil", WorkRule::same, [](auto x) { return above(x); });
constinit const ElementwiseOp trunc = unary(Rounded{}, "trunc", WorkRule::same, [](auto x) { return towards_zero(x); });
constinit const ElementwiseOp round = unary(Numbers{}, "round", WorkRule::same, [](auto x) { return nearest(x); });

constinit const ElementwiseOp atan2 = binary(Inexact{}, "atan2", WorkRule::inexact, []<class T>(T x, T y) -> T {
  if constexpr (is_complex_v<T>)
    return T(angle(C128(x), C128(y)));
  else
    return std::atan2(x, y);
});
constinit const ElementwiseOp hypot = binary(Floats{}, "hypot", WorkRule::inexact, [](auto x, auto y) { return std::hypot(x, y); });
constinit const ElementwiseOp logaddexp = binary(Inexact{}, "logaddexp", WorkRule::inexact, []<class T>(T x, T y) -> T {
  if constexpr (is_complex_v<T>)
    return T(log_add_exp(C128(x), C128(y)));
  else
    return log_add_exp(x, y);
});
constinit const ElementwiseOp copysign =
    binary(Floats{}, "copysign", WorkRule::inexact, [](auto x, auto y) { return std::copysign(x, y); });
constinit const ElementwiseOp nextafter = binary(Join<Floats, Halves>{}, "nextafter", WorkRule::inexact, [](auto x, auto y) {
  if constexpr (std::floating_point<decltype(x)>)
    return std::nextafter(x, y);
  else
    return next_half(x, y);
});

}  // namespace meshwise::detail::op

#include <cmath>

#include "ops/kernels/elementwise_entry.hpp"

namespace meshwise::detail::op {
namespace {

// Integers follow JAX: x / 0 is -1 (all ones), and MIN / -1 is MIN.
template <std::integral T>
T truncating_quotient(T x, T y) {
  if (y == 0) return static_cast<T>(-1);
  if constexpr (std::signed_integral<T>)
    if (y == -1) return static_cast<T>(0 - wrapping(x));
  return static_cast<T>(x / y);
}
template <std::integral T>
T truncating_remainder(T x, T y) {
  if (y == 0) return x;
  if constexpr (std::signed_integral<T>)
    if (y == -1) return 0;
  return static_cast<T>(x % y);
}

template <class T>
T floor_quotient(T x, T y) {
  if constexpr (std::unsigned_integral<T>) {
    return truncating_quotient(x, y);
  } else if constexpr (std::integral<T>) {
    const T q = truncating_quotient(x, y);
    const int sx = (x > 0) - (x < 0), sy = (y > 0) - (y < 0);
    return sx != sy && truncating_remainder(x, y) != 0 ? static_cast<T>(q - 1) : q;
  } else {
    if (y == 0) return x / y;
    const T mod = std::fmod(x, y);
    T q = (x - mod) / y;
    if (mod != 0 && (y < 0) != (mod < 0)) q -= 1;
    return q == 0 ? std::copysign(q, x / y) : std::rint(q);
  }
}

template <class T>
T floor_remainder(T x, T y) {
  if constexpr (std::integral<T>) {
    if (y == 0) return 0;
    const T r = truncating_remainder(x, y);
    if constexpr (std::signed_integral<T>)
      if (r != 0 && (r < 0) != (y < 0)) return static_cast<T>(r + y);
    return r;
  } else {
    const T r = std::fmod(x, y);
    if (r == 0) return std::copysign(r, y);
    return (r < 0) != (y < 0) ? r + y : r;
  }
}

// By squaring; a negative exponent gives the quotient 1 / x^n, which is 0 but for x = 1 and -1.
template <std::integral T>
T integer_power(T x, T n) {
  if constexpr (std::signed_integral<T>)
    if (n < 0) return x == 1 ? T{1} : x == -1 ? static_cast<T>((n & 1) != 0 ? -1 : 1) : T{0};
  auto base = wrapping(x);
  decltype(base) result = 1;
  for (auto left = static_cast<std::make_unsigned_t<T>>(n); left != 0; left = static_cast<decltype(left)>(left >> 1)) {
    if ((left & 1u) != 0) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}

template <class T>
bool lexicographically_less(const std::complex<T>& x, const std::complex<T>& y) {
  return x.real() == y.real() ? x.imag() < y.imag() : x.real() < y.real();
}

// NaN wins, whichever side it is on; of equals (zeros of either sign) the second is taken.
template <class T>
T larger(T x, T y) {
  if constexpr (is_complex_v<T>)
    return x != x || !(y != y || lexicographically_less(x, y)) ? x : y;
  else if constexpr (std::floating_point<T>)
    return x > y || x != x ? x : y;
  else
    return x > y ? x : y;
}
template <class T>
T smaller(T x, T y) {
  if constexpr (is_complex_v<T>)
    return x != x || !(y != y || lexicographically_less(y, x)) ? x : y;
  else if constexpr (std::floating_point<T>)
    return x < y || x != x ? x : y;
  else
    return x < y ? x : y;
}

// Smith's method: no overflow where the quotient has none.
template <class T>
std::complex<T> quotient(std::complex<T> x, std::complex<T> y) {
  const T a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  if (std::abs(c) >= std::abs(d)) {
    const T r = d / c, s = c + d * r;
    return {(a + b * r) / s, (b - a * r) / s};
  }
  const T r = c / d, s = c * r + d;
  return {(a * r + b) / s, (b * r - a) / s};
}

template <class T>
T product(T x, T y) {
  if constexpr (is_complex_v<T>)
    return T(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
  else if constexpr (std::integral<T>)
    return static_cast<T>(wrapping(x) * wrapping(y));
  else
    return x * y;
}

template <class T>
T divided(T x, T y) {
  if constexpr (is_complex_v<T>)
    return quotient(x, y);
  else
    return x / y;
}

}  // namespace

constinit const ElementwiseOp add = binary(Everything{}, "add", WorkRule::same, []<class T>(T x, T y) -> T {
  if constexpr (std::same_as<T, bool>)
    return x | y;
  else if constexpr (std::integral<T>)
    return static_cast<T>(wrapping(x) + wrapping(y));
  else
    return x + y;
});
constinit const ElementwiseOp subtract = binary(Numbers{}, "subtract", WorkRule::same, []<class T>(T x, T y) -> T {
  if constexpr (std::integral<T>)
    return static_cast<T>(wrapping(x) - wrapping(y));
  else
    return x - y;
});
constinit const ElementwiseOp multiply =
    binary(Everything{}, "multiply", WorkRule::same, []<class T>(T x, T y) -> T { return product(x, y); });
constinit const ElementwiseOp divide = binary(Inexact{}, "divide", WorkRule::inexact, []<class T>(T x, T y) -> T { return divided(x, y); });
constinit const ElementwiseOp floor_divide =
    binary(Reals{}, "floor_divide", WorkRule::numeric, []<class T>(T x, T y) -> T { return floor_quotient(x, y); });
constinit const ElementwiseOp remainder =
    binary(Reals{}, "remainder", WorkRule::numeric, []<class T>(T x, T y) -> T { return floor_remainder(x, y); });
constinit const ElementwiseOp pow = binary(Numbers{}, "pow", WorkRule::numeric, []<class T>(T x, T y) -> T {
  if constexpr (std::integral<T>)
    return integer_power(x, y);
  else if constexpr (std::same_as<T, std::complex<float>>)
    return T(std::pow(std::complex<double>(x), std::complex<double>(y)));
  else
    return std::pow(x, y);
});
constinit const ElementwiseOp maximum =
    binary(Everything{}, "maximum", WorkRule::same, []<class T>(T x, T y) -> T { return larger(x, y); });
constinit const ElementwiseOp minimum =
    binary(Everything{}, "minimum", WorkRule::same, []<class T>(T x, T y) -> T { return smaller(x, y); });
constinit const ElementwiseOp clip =
    ternary(Reals{}, "clip", WorkRule::numeric, []<class T>(T x, T low, T high) -> T { return smaller(larger(x, low), high); });
constinit const ElementwiseOp clip_below =
    binary(Reals{}, "clip", WorkRule::numeric, []<class T>(T x, T low) -> T { return larger(x, low); });
constinit const ElementwiseOp clip_above =
    binary(Reals{}, "clip", WorkRule::numeric, []<class T>(T x, T high) -> T { return smaller(x, high); });

constinit const ElementwiseOp negative = unary(Numbers{}, "negative", WorkRule::same, []<class T>(T x) -> T {
  if constexpr (std::integral<T>)
    return static_cast<T>(0 - wrapping(x));
  else
    return -x;
});
constinit const ElementwiseOp positive = unary(Everything{}, "positive", WorkRule::same, []<class T>(T x) -> T { return x; });
constinit const ElementwiseOp abs = unary(Everything{}, "abs", WorkRule::same, []<class T>(T x) {
  if constexpr (is_complex_v<T>)
    return std::abs(x);
  else if constexpr (std::signed_integral<T>)
    return x < 0 ? static_cast<T>(0 - wrapping(x)) : x;
  else if constexpr (std::floating_point<T>)
    return std::abs(x);
  else
    return x;
});
constinit const ElementwiseOp sign = unary(Numbers{}, "sign", WorkRule::same, []<class T>(T x) -> T {
  if constexpr (is_complex_v<T>)
    return x == T{} ? x : x / std::abs(x);
  else if constexpr (std::floating_point<T>)
    return x > 0 ? T{1} : x < 0 ? T{-1} : x != x ? x : T{0};
  else if constexpr (std::signed_integral<T>)
    return static_cast<T>((x > 0) - (x < 0));
  else
    return x != 0 ? T{1} : T{0};
});
constinit const ElementwiseOp square = unary(Numbers{}, "square", WorkRule::numeric, []<class T>(T x) -> T { return product(x, x); });
constinit const ElementwiseOp reciprocal =
    unary(Inexact{}, "reciprocal", WorkRule::inexact, []<class T>(T x) -> T { return divided(T{1}, x); });
constinit const ElementwiseOp real = unary(Everything{}, "real", WorkRule::same, []<class T>(T x) {
  if constexpr (is_complex_v<T>)
    return x.real();
  else
    return x;
});
constinit const ElementwiseOp imag = unary(Everything{}, "imag", WorkRule::same, []<class T>(T x) {
  if constexpr (is_complex_v<T>)
    return x.imag();
  else
    return T{};
});
constinit const ElementwiseOp conj = unary(Everything{}, "conj", WorkRule::same, []<class T>(T x) -> T {
  if constexpr (is_complex_v<T>)
    return std::conj(x);
  else
    return x;
});

}  // namespace meshwise::detail::op

#include <bit>
#include <cmath>

#include "ops/kernels/elementwise_entry.hpp"

namespace meshwise::detail::op {
namespace {

// Complex numbers compare lexicographically, as in JAX; any NaN part makes a comparison false.
template <class T>
bool before(T x, T y, bool or_equal) {
  if constexpr (is_complex_v<T>)
    return x.real() == y.real() ? (x.imag() < y.imag() || (or_equal && x.imag() == y.imag())) : x.real() < y.real();
  else
    return or_equal ? x <= y : x < y;
}

template <class T>
bool truth(T x) {
  return x != T{};
}

template <class T, class F>
bool any_part(T x, F&& test) {
  if constexpr (is_complex_v<T>)
    return test(x.real()) || test(x.imag());
  else if constexpr (std::floating_point<T>)
    return test(x);
  else
    return false;
}

// A shift by the width or more gives 0, or the sign for >> of signed.
template <std::integral T>
T shifted_left(T x, T by) {
  const auto n = static_cast<std::make_unsigned_t<T>>(by);
  return n >= sizeof(T) * 8 ? T{0} : static_cast<T>(wrapping(x) << n);
}
template <std::integral T>
T shifted_right(T x, T by) {
  const auto n = static_cast<std::make_unsigned_t<T>>(by);
  if (n < sizeof(T) * 8) return static_cast<T>(x >> n);
  if constexpr (std::signed_integral<T>)
    return static_cast<T>(x < 0 ? -1 : 0);
  else
    return T{0};
}

using Bits = Join<Booleans, Integers>;
using WithSign = Join<Booleans, Reals>;

template <class T>
MESHWISE_WIDE void where_loop(const OperandLane* lanes, std::byte* out, std::int64_t count) {
  // Bytes of 0 or 1: of bool itself the compiler makes no vectors.
  const std::uint8_t* __restrict condition = reinterpret_cast<const std::uint8_t*>(lanes[0].data);
  const T* __restrict x = reinterpret_cast<const T*>(lanes[1].data);
  const T* __restrict y = reinterpret_cast<const T*>(lanes[2].data);
  T* __restrict r = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) {
    const T a = x[i], b = y[i];
    // Without a branch, whatever the widths: bits of one or the other.
    if constexpr (std::integral<T>)
      r[i] = static_cast<T>(b ^ ((a ^ b) & static_cast<T>(-static_cast<T>(condition[i]))));
    else
      r[i] = condition[i] != 0 ? a : b;
  }
}

// Choosing needs no arithmetic: one loop a width serves every dtype, the 16-bit floats unconverted.
template <class... T>
constexpr ElementwiseOp where_entry(Types<T...>) {
  ElementwiseOp op{"where", WorkRule::same, 3, true, true, {}};
  (set_slot<T>(
       op, dtype_of<T>(),
       &where_loop<std::conditional_t<
           sizeof(T) == 1, std::uint8_t,
           std::conditional_t<sizeof(T) == 2, std::uint16_t,
                              std::conditional_t<sizeof(T) == 4, std::uint32_t, std::conditional_t<sizeof(T) == 8, std::uint64_t, T>>>>>),
   ...);
  return op;
}

}  // namespace

constinit const ElementwiseOp equal = binary(Everything{}, "equal", WorkRule::same, [](auto x, auto y) { return x == y; });
constinit const ElementwiseOp not_equal = binary(Everything{}, "not_equal", WorkRule::same, [](auto x, auto y) { return x != y; });
constinit const ElementwiseOp less = binary(Everything{}, "less", WorkRule::same, [](auto x, auto y) { return before(x, y, false); });
constinit const ElementwiseOp less_equal =
    binary(Everything{}, "less_equal", WorkRule::same, [](auto x, auto y) { return before(x, y, true); });
constinit const ElementwiseOp greater = binary(Everything{}, "greater", WorkRule::same, [](auto x, auto y) { return before(y, x, false); });
constinit const ElementwiseOp greater_equal =
    binary(Everything{}, "greater_equal", WorkRule::same, [](auto x, auto y) { return before(y, x, true); });

constinit const ElementwiseOp logical_and =
    binary(Everything{}, "logical_and", WorkRule::same, [](auto x, auto y) -> bool { return truth(x) & truth(y); });
constinit const ElementwiseOp logical_or =
    binary(Everything{}, "logical_or", WorkRule::same, [](auto x, auto y) -> bool { return truth(x) | truth(y); });
constinit const ElementwiseOp logical_xor =
    binary(Everything{}, "logical_xor", WorkRule::same, [](auto x, auto y) { return truth(x) != truth(y); });
constinit const ElementwiseOp logical_not = unary(Everything{}, "logical_not", WorkRule::same, [](auto x) { return !truth(x); });

constinit const ElementwiseOp bitwise_and =
    binary(Bits{}, "bitwise_and", WorkRule::same, []<class T>(T x, T y) { return static_cast<T>(x & y); });
constinit const ElementwiseOp bitwise_or =
    binary(Bits{}, "bitwise_or", WorkRule::same, []<class T>(T x, T y) { return static_cast<T>(x | y); });
constinit const ElementwiseOp bitwise_xor =
    binary(Bits{}, "bitwise_xor", WorkRule::same, []<class T>(T x, T y) { return static_cast<T>(x ^ y); });
constinit const ElementwiseOp bitwise_invert = unary(Bits{}, "bitwise_invert", WorkRule::same, []<class T>(T x) -> T {
  if constexpr (std::same_as<T, bool>)
    return !x;
  else
    return static_cast<T>(~x);
});
constinit const ElementwiseOp bitwise_left_shift =
    binary(Integers{}, "bitwise_left_shift", WorkRule::numeric, [](auto x, auto y) { return shifted_left(x, y); });
constinit const ElementwiseOp bitwise_right_shift =
    binary(Integers{}, "bitwise_right_shift", WorkRule::numeric, [](auto x, auto y) { return shifted_right(x, y); });

constinit const ElementwiseOp isnan =
    unary(Everything{}, "isnan", WorkRule::same, [](auto x) { return any_part(x, [](auto v) { return v != v; }); });
constinit const ElementwiseOp isinf =
    unary(Everything{}, "isinf", WorkRule::same, [](auto x) { return any_part(x, [](auto v) { return std::isinf(v); }); });
constinit const ElementwiseOp isfinite =
    unary(Everything{}, "isfinite", WorkRule::same, [](auto x) { return !any_part(x, [](auto v) { return !std::isfinite(v); }); });
constinit const ElementwiseOp signbit = unary(WithSign{}, "signbit", WorkRule::same, []<class T>(T x) -> bool {
  if constexpr (std::floating_point<T>)
    return std::signbit(x);
  else
    return x < T{};
});

constinit const ElementwiseOp where = where_entry(Join<Everything, Halves>{});

}  // namespace meshwise::detail::op

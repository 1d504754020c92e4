#pragma once
// How a table entry is written: a function of values, and the element types it is for.
//
//   const ElementwiseOp add = binary<Numbers, bool>("add", WorkRule::same, [](auto x, auto y) { return ...; });
//
// The function is instantiated for each type; its return type says the result's dtype (the same, bool, or a complex number's part).

#include <concepts>
#include <limits>
#include <type_traits>

#include "base/wide.hpp"
#include "ops/kernels/elementwise_op.hpp"

namespace meshwise::detail {

template <class... T>
struct Types {};
template <class A, class B>
struct JoinTypes;
template <class... A, class... B>
struct JoinTypes<Types<A...>, Types<B...>> {
  using type = Types<A..., B...>;
};
template <class A, class B>
using Join = typename JoinTypes<A, B>::type;

using Booleans = Types<bool>;
using Signed = Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
using Unsigned = Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
using Integers = Join<Signed, Unsigned>;
using Floats = Types<float, double>;
using Halves = Types<float16_t, bfloat16_t>;
using Complexes = Types<std::complex<float>, std::complex<double>>;
using Reals = Join<Integers, Floats>;
using Inexact = Join<Floats, Complexes>;
using Numbers = Join<Integers, Inexact>;
using Everything = Join<Booleans, Numbers>;

template <class T>
inline constexpr bool is_half_v = std::same_as<T, float16_t> || std::same_as<T, bfloat16_t>;
template <class T>
inline constexpr bool is_complex_v = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

// Arithmetic that wraps: unsigned, and wide enough that the language does not promote it to a signed int.
template <class T>
struct WrappingType {
  using type = std::conditional_t<sizeof(T) < 4, std::uint32_t, std::make_unsigned_t<T>>;
};
template <>
struct WrappingType<bool> {
  using type = std::uint32_t;
};
template <std::integral T>
constexpr typename WrappingType<T>::type wrapping(T x) {
  return static_cast<typename WrappingType<T>::type>(x);
}

template <class F, class T>
MESHWISE_WIDE void unary_loop(const OperandLane* lanes, std::byte* out, std::int64_t count) {
  using R = decltype(F{}(T{}));
  const T* __restrict x = reinterpret_cast<const T*>(lanes[0].data);
  R* __restrict r = reinterpret_cast<R*>(out);
  for (std::int64_t i = 0; i < count; ++i) r[i] = F{}(x[i]);
}

template <class F, class T>
MESHWISE_WIDE void binary_loop(const OperandLane* lanes, std::byte* out, std::int64_t count) {
  using R = decltype(F{}(T{}, T{}));
  const T* __restrict x = reinterpret_cast<const T*>(lanes[0].data);
  const T* __restrict y = reinterpret_cast<const T*>(lanes[1].data);
  R* __restrict r = reinterpret_cast<R*>(out);
  if (lanes[0].single) {
    const T a = *x;
    for (std::int64_t i = 0; i < count; ++i) r[i] = F{}(a, y[i]);
  } else if (lanes[1].single) {
    const T b = *y;
    for (std::int64_t i = 0; i < count; ++i) r[i] = F{}(x[i], b);
  } else {
    for (std::int64_t i = 0; i < count; ++i) r[i] = F{}(x[i], y[i]);
  }
}

template <class F, class T>
MESHWISE_WIDE void ternary_loop(const OperandLane* lanes, std::byte* out, std::int64_t count) {
  const T* __restrict x = reinterpret_cast<const T*>(lanes[0].data);
  const T* __restrict y = reinterpret_cast<const T*>(lanes[1].data);
  const T* __restrict z = reinterpret_cast<const T*>(lanes[2].data);
  T* __restrict r = reinterpret_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) r[i] = F{}(x[i], y[i], z[i]);
}

template <class R>
constexpr void set_slot(ElementwiseOp& op, Dtype dtype, ElementwiseLoop loop) {
  op.slots[static_cast<std::size_t>(dtype)] = {loop, dtype, dtype_of<R>()};
}

// The 16-bit floats have no loops of their own, but for operations on their bits: they compute in float and round once.
template <class... T>
constexpr ElementwiseOp with_halves(ElementwiseOp op) {
  if constexpr (!(std::same_as<T, float16_t> || ...))
    for (const auto half : {Dtype::float16, Dtype::bfloat16})
      op.slots[static_cast<std::size_t>(half)] = op.slots[static_cast<std::size_t>(Dtype::float32)];
  return op;
}

// bfloat16 does the same within a loop, in registers: it is converted by a shift, and memory is what its operations wait for.
template <class F>
struct ByFloat {
  static auto operate(auto... x) {
    const auto result = F{}(static_cast<float>(x)...);
    if constexpr (std::same_as<decltype(result), const float>)
      return bfloat16_t(result);
    else
      return result;
  }
  auto operator()(bfloat16_t x, bfloat16_t y) const { return operate(x, y); }
};
template <class F, class... T>
constexpr ElementwiseOp with_bfloat16(ElementwiseOp op) {
  if constexpr ((std::same_as<T, float> || ...) && !(std::same_as<T, bfloat16_t> || ...))
    if (op.vector_function == no_vector_function)
      set_slot<decltype(ByFloat<F>{}(bfloat16_t{}, bfloat16_t{}))>(op, Dtype::bfloat16, &binary_loop<ByFloat<F>, bfloat16_t>);
  return op;
}

template <class F, class... T>
constexpr ElementwiseOp unary(Types<T...>, const char* name, WorkRule rule, F) {
  ElementwiseOp op{name, rule, 1, false, false, {}, vector_function_named(name)};
  (set_slot<decltype(F{}(T{}))>(op, dtype_of<T>(), &unary_loop<F, T>), ...);
  return with_halves<T...>(op);
}

template <class F, class... T>
constexpr ElementwiseOp binary(Types<T...>, const char* name, WorkRule rule, F) {
  ElementwiseOp op{name, rule, 2, false, false, {}, vector_function_named(name)};
  (set_slot<decltype(F{}(T{}, T{}))>(op, dtype_of<T>(), &binary_loop<F, T>), ...);
  return with_bfloat16<F, T...>(with_halves<T...>(op));
}

template <class F, class... T>
constexpr ElementwiseOp ternary(Types<T...>, const char* name, WorkRule rule, F) {
  ElementwiseOp op{name, rule, 3, false, true, {}};
  (set_slot<T>(op, dtype_of<T>(), &ternary_loop<F, T>), ...);
  return with_halves<T...>(op);
}

}  // namespace meshwise::detail

// The table of sums and products.

#include "ops/kernels/reduce_entry.hpp"

namespace meshwise::detail::op {
namespace {

// Short sums of floats are exact in double, long ones lose nothing that float32 could hold.
template <class T>
using Wide = std::conditional_t<is_complex_v<T>, std::complex<double>,
                                std::conditional_t<std::floating_point<Value<T>>, double,
                                                   std::conditional_t<std::unsigned_integral<T> && !std::same_as<T, bool>,
                                                                      std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>,
                                                                      std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>>>>;

template <class A>
A added(A a, A b) {
  if constexpr (std::integral<A>)
    return static_cast<A>(wrapping(a) + wrapping(b));
  else
    return a + b;
}
template <class A>
A multiplied(A a, A b) {
  if constexpr (std::integral<A>)
    return static_cast<A>(wrapping(a) * wrapping(b));
  else if constexpr (is_complex_v<A>)
    return A(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  else
    return a * b;
}

/// The sums of row_group small integers: exact in less than their total takes, and twice the elements go into a vector.
template <class T>
using Narrow = std::conditional_t<
    std::same_as<T, std::int8_t>, std::int16_t,
    std::conditional_t<sizeof(T) == 1, std::uint16_t,
                       std::conditional_t<std::same_as<T, std::int16_t>, std::int32_t,
                                          std::conditional_t<sizeof(T) == 2, std::uint32_t,
                                                             std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t>>>>>;
template <class T, class Accumulator, bool Narrows>
struct SumNear {};
template <class T, class A>
struct SumNear<T, A, true> {
  using Near = Narrow<T>;
  static Near near_empty() { return 0; }
  static void take_near(Near& a, T x) { a = static_cast<Near>(a + static_cast<Near>(x)); }
  static void gather(A& a, Near b, std::int64_t) { a = added(a, static_cast<A>(b)); }
};

template <class T>
struct Sum : SumNear<T, Wide<T>, std::integral<T> && sizeof(T) == 1> {
  using Accumulator = Wide<T>;
  static constexpr bool exchangeable = true;
  static Accumulator empty() { return Accumulator{}; }
  static void take(Accumulator& a, T x, std::int64_t) { a = added(a, static_cast<Accumulator>(value_of(x))); }
  static void merge(Accumulator& a, Accumulator b) { a = added(a, b); }
};

template <class T>
using Average = std::conditional_t<is_complex_v<T>, std::complex<double>, double>;
template <class T>
struct Mean : SumNear<T, Average<T>, std::integral<T> && sizeof(T) <= 4> {
  using Accumulator = Average<T>;
  static constexpr bool exchangeable = true;
  static Accumulator empty() { return Accumulator{}; }
  static void take(Accumulator& a, T x, std::int64_t) { a += static_cast<Accumulator>(value_of(x)); }
  static void merge(Accumulator& a, Accumulator b) { a += b; }
};

template <class T>
struct Prod {
  using Accumulator = Wide<T>;
  static constexpr bool exchangeable = true;
  static Accumulator empty() { return Accumulator{1}; }
  static void take(Accumulator& a, T x, std::int64_t) { a = multiplied(a, static_cast<Accumulator>(value_of(x))); }
  static void merge(Accumulator& a, Accumulator b) { a = multiplied(a, b); }
};

consteval ReduceOp adding(ReduceOp op) {
  op.sums = true;
  return op;
}

}  // namespace

constinit const ReduceOp sum = adding(entry<Sum>(AllTypes{}, "sum", ReduceResult::total));
constinit const ReduceOp prod = entry<Prod>(AllTypes{}, "prod", ReduceResult::total);
constinit const ReduceOp mean = adding(entry<Mean>(AllTypes{}, "mean", ReduceResult::average));

}  // namespace meshwise::detail::op

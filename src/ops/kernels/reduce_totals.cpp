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

template <class T>
struct Sum {
  using Accumulator = Wide<T>;
  static constexpr bool exchangeable = true;
  static Accumulator empty() { return Accumulator{}; }
  static void take(Accumulator& a, T x, std::int64_t) { a = added(a, static_cast<Accumulator>(value_of(x))); }
  static void merge(Accumulator& a, Accumulator b) { a = added(a, b); }
};

template <class T>
struct Mean {
  using Accumulator = std::conditional_t<is_complex_v<T>, std::complex<double>, double>;
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

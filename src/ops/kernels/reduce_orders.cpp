// The table of extremes, their positions, and truths.

#include <cmath>
#include <limits>

#include "ops/kernels/reduce_entry.hpp"

namespace meshwise::detail::op {
namespace {

// NaN wins; of zeros max prefers +0 and min -0, so that no order of devices shows.
template <class V, bool Largest>
bool beats(V x, V a) {
  if constexpr (std::floating_point<V>) {
    const bool zero = x == a && (Largest ? std::signbit(a) && !std::signbit(x) : !std::signbit(a) && std::signbit(x));
    return (Largest ? x > a : x < a) || x != x || zero;
  } else {
    return Largest ? x > a : x < a;
  }
}

template <class T, bool Largest>
struct Extreme {
  using Accumulator = T;
  static constexpr bool exchangeable = true;
  static Accumulator empty() {
    using V = Value<T>;
    using Limits = std::numeric_limits<V>;
    if constexpr (std::floating_point<V>) return static_cast<T>(Largest ? -Limits::infinity() : Limits::infinity());
    else return Largest ? Limits::min() : Limits::max();
  }
  static void take(Accumulator& a, T x, std::int64_t) { a = beats<Value<T>, Largest>(value_of(x), value_of(a)) ? x : a; }
  static void merge(Accumulator& a, Accumulator b) { take(a, b, 0); }
};
template <class T>
using Max = Extreme<T, true>;
template <class T>
using Min = Extreme<T, false>;

template <class T>
struct All {
  using Accumulator = bool;
  static constexpr bool exchangeable = true;
  static bool empty() { return true; }
  static void take(bool& a, T x, std::int64_t) { a = a & (value_of(x) != Value<T>{}); }
  static void merge(bool& a, bool b) { a = a & b; }
};
template <class T>
struct Any {
  using Accumulator = bool;
  static constexpr bool exchangeable = true;
  static bool empty() { return false; }
  static void take(bool& a, T x, std::int64_t) { a = a | (value_of(x) != Value<T>{}); }
  static void merge(bool& a, bool b) { a = a | b; }
};
template <class T>
struct CountNonzero {
  using Accumulator = std::int64_t;
  static constexpr bool exchangeable = true;
  static std::int64_t empty() { return 0; }
  static void take(std::int64_t& a, T x, std::int64_t) { a += value_of(x) != Value<T>{} ? 1 : 0; }
  static void merge(std::int64_t& a, std::int64_t b) { a += b; }
};

/// A value and the number of the element it came from; -1: none yet.
template <class V>
struct Candidate {
  V value;
  std::int64_t number;
};

template <class T, bool Largest>
struct Position {
  using V = std::conditional_t<std::floating_point<Value<T>>, double, std::conditional_t<std::same_as<T, std::uint64_t>, std::uint64_t, std::int64_t>>;
  using Accumulator = Candidate<V>;
  static constexpr bool exchangeable = false;
  static Accumulator empty() { return {V{}, -1}; }
  static bool better(V x, V a) {
    if constexpr (std::floating_point<V>) return a == a && ((Largest ? x > a : x < a) || x != x);
    else return Largest ? x > a : x < a;
  }
  static bool tied(V x, V a) { return x == a || (x != x && a != a); }
  static void take(Accumulator& a, T x, std::int64_t number) { merge(a, {static_cast<V>(value_of(x)), number}); }
  static void merge(Accumulator& a, Accumulator b) {
    if (b.number < 0) return;
    if (a.number < 0 || better(b.value, a.value) || (b.number < a.number && tied(b.value, a.value))) a = b;
  }
};
template <class T>
using ArgMax = Position<T, true>;
template <class T>
using ArgMin = Position<T, false>;

}  // namespace

constinit const ReduceOp max = entry<Max>(Ordered{}, "max", ReduceResult::same, false);
constinit const ReduceOp min = entry<Min>(Ordered{}, "min", ReduceResult::same, false);
constinit const ReduceOp all = entry<All>(AllTypes{}, "all", ReduceResult::truth);
constinit const ReduceOp any = entry<Any>(AllTypes{}, "any", ReduceResult::truth);
constinit const ReduceOp count_nonzero = entry<CountNonzero>(AllTypes{}, "count_nonzero", ReduceResult::position);
constinit const ReduceOp argmax = entry<ArgMax>(Ordered{}, "argmax", ReduceResult::position, false);
constinit const ReduceOp argmin = entry<ArgMin>(Ordered{}, "argmin", ReduceResult::position, false);

}  // namespace meshwise::detail::op

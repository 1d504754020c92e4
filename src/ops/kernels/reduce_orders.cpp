// The table of extremes, their positions, and truths.

#include <bit>
#include <limits>

#include "ops/kernels/reduce_entry.hpp"

namespace meshwise::detail::op {
namespace {

/// The integers that stand for an element type's values in their order.
template <class T>
struct OrderType {
  using type = T;
};
template <class T>
requires(is_half_v<T> || std::floating_point<T>) struct OrderType<T> {
  using type = std::conditional_t<sizeof(T) == 2, std::int16_t, std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>;
};
template <class T>
using Order = typename OrderType<T>::type;

template <class T>
constexpr Order<T> infinity_bits() {
  if constexpr (std::same_as<T, float16_t>)
    return 0x7c00;
  else if constexpr (std::same_as<T, bfloat16_t>)
    return 0x7f80;
  else
    return std::bit_cast<Order<T>>(std::numeric_limits<T>::infinity());
}

// Floats in order, -0 below +0, as integers of their width: a vector instruction then compares them, the 16-bit ones too, and no grouping of elements
// or devices shows. NaN of either sign is beyond everything on the side that is asked for.
template <class T, bool Largest>
[[gnu::always_inline]] inline Order<T> order_of(T x) {
  if constexpr (std::integral<T>) {
    return x;
  } else {
    using K = Order<T>;
    constexpr K all = std::numeric_limits<K>::max();
    constexpr auto infinity = [] {
      if constexpr (std::same_as<T, float16_t>)
        return K{0x7c00};
      else if constexpr (std::same_as<T, bfloat16_t>)
        return K{0x7f80};
      else
        return std::bit_cast<K>(std::numeric_limits<T>::infinity());
    }();
    const auto bits = std::bit_cast<K>(x);
    const auto ordered = static_cast<K>(bits ^ ((bits >> (8 * sizeof(K) - 1)) & all));
    return static_cast<K>(bits & all) > infinity ? (Largest ? all : std::numeric_limits<K>::min()) : ordered;
  }
}

/// Where positions are asked for, zeros of either sign are equal: the first counts.
template <class T, bool Largest, bool EqualZeros>
[[gnu::always_inline]] inline Order<T> key_of(T x) {
  const auto order = order_of<T, Largest>(x);
  if constexpr (std::integral<T> || !EqualZeros)
    return order;
  else
    return order == -1 ? Order<T>{0} : order;
}

// Keys are made a piece at a time, so that making them and comparing them vectorise each on its own.
template <class T, bool Largest, bool EqualZeros>
[[gnu::always_inline]] inline Order<T> extreme_of(const T* x, std::int64_t stride, std::int64_t count) {
  using K = Order<T>;
  constexpr std::int64_t piece = 256;
  K keys[piece];
  K top = Largest ? std::numeric_limits<K>::min() : std::numeric_limits<K>::max();
  for (std::int64_t done = 0; done < count; done += piece) {
    const auto n = std::min(piece, count - done);
    const T* from = x + done * stride;
    if (stride == 1)
      for (std::int64_t i = 0; i < n; ++i) keys[i] = key_of<T, Largest, EqualZeros>(from[i]);
    else
      for (std::int64_t i = 0; i < n; ++i) keys[i] = key_of<T, Largest, EqualZeros>(from[i * stride]);
    for (std::int64_t i = 0; i < n; ++i) top = (Largest ? keys[i] > top : keys[i] < top) ? keys[i] : top;
  }
  return top;
}

// Integers alone: every instruction set gives the same. 128 bits at a time, without an instruction for the larger of two, are half as fast as memory.
#if defined(__x86_64__) && !defined(MESHWISE_NO_TARGET_CLONES)
#define MESHWISE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define MESHWISE_WIDE
#endif
template <class T, bool Largest, bool EqualZeros>
struct Dense;
#define MESHWISE_DENSE(T, largest, zeros, name)                                                                      \
  MESHWISE_WIDE Order<T> name(const T* x, std::int64_t count) { return extreme_of<T, largest, zeros>(x, 1, count); } \
  template <>                                                                                                        \
  struct Dense<T, largest, zeros> {                                                                                  \
    static constexpr auto run = name;                                                                                \
  };
#define MESHWISE_DENSE_OF(T, name)                 \
  MESHWISE_DENSE(T, true, false, name##_largest)   \
  MESHWISE_DENSE(T, false, false, name##_smallest) \
  MESHWISE_DENSE(T, true, true, name##_argmax)     \
  MESHWISE_DENSE(T, false, true, name##_argmin)
MESHWISE_DENSE_OF(float, float32)
MESHWISE_DENSE_OF(double, float64)
MESHWISE_DENSE_OF(float16_t, half)
MESHWISE_DENSE_OF(bfloat16_t, brain)
#undef MESHWISE_DENSE_OF
#undef MESHWISE_DENSE
#undef MESHWISE_WIDE

/// The extreme key of `count` elements.
template <bool Largest, bool EqualZeros, class T>
Order<T> extreme_key(const T* x, std::int64_t stride, std::int64_t count) {
  if constexpr (!std::integral<T>)
    if (stride == 1) return Dense<T, Largest, EqualZeros>::run(x, count);
  return extreme_of<T, Largest, EqualZeros>(x, stride, count);
}

template <class T, bool Largest>
struct Extreme {
  using Accumulator = Order<T>;
  static constexpr bool exchangeable = true;
  static Accumulator empty() { return Largest ? std::numeric_limits<Accumulator>::min() : std::numeric_limits<Accumulator>::max(); }
  static void take(Accumulator& a, T x, std::int64_t) { merge(a, order_of<T, Largest>(x)); }
  static void merge(Accumulator& a, Accumulator b) { a = (Largest ? b > a : b < a) ? b : a; }
  static Accumulator run(const T* x, std::int64_t stride, std::int64_t count, std::int64_t, std::int64_t) requires(!std::integral<T>) {
    return extreme_key<Largest, false>(x, stride, count);
  }
};
template <class T>
using Max = Extreme<T, true>;
template <class T>
using Min = Extreme<T, false>;

template <class T>
bool is_true(T x) {
  if constexpr (is_half_v<T>)
    return (x.bits & 0x7fffu) != 0;
  else if constexpr (is_complex_v<T>)
    return (x.real() != 0) | (x.imag() != 0);
  else
    return x != T{};
}

template <class T>
std::int64_t count_true(const T* x, std::int64_t stride, std::int64_t count) {
  constexpr std::int64_t piece = std::int64_t{1} << 20;  // an int counts it, which vectorises
  std::int64_t total = 0;
  for (std::int64_t done = 0; done < count; done += piece) {
    const auto n = std::min(piece, count - done);
    const T* from = x + done * stride;
    int here = 0;
    if (stride == 1)
      for (std::int64_t i = 0; i < n; ++i) here += is_true(from[i]);
    else
      for (std::int64_t i = 0; i < n; ++i) here += is_true(from[i * stride]);
    total += here;
  }
  return total;
}

template <class T>
struct All {
  using Accumulator = bool;
  static constexpr bool exchangeable = true;
  static bool empty() { return true; }
  static void take(bool& a, T x, std::int64_t) { a = a & is_true(x); }
  static void merge(bool& a, bool b) { a = a & b; }
  static bool run(const T* x, std::int64_t stride, std::int64_t count, std::int64_t, std::int64_t) {
    return count_true(x, stride, count) == count;
  }
};
template <class T>
struct Any {
  using Accumulator = bool;
  static constexpr bool exchangeable = true;
  static bool empty() { return false; }
  static void take(bool& a, T x, std::int64_t) { a = a | is_true(x); }
  static void merge(bool& a, bool b) { a = a | b; }
  static bool run(const T* x, std::int64_t stride, std::int64_t count, std::int64_t, std::int64_t) {
    return count_true(x, stride, count) > 0;
  }
};
template <class T>
struct CountNonzero {
  using Accumulator = std::int64_t;
  static constexpr bool exchangeable = true;
  static std::int64_t empty() { return 0; }
  static void take(std::int64_t& a, T x, std::int64_t) { a += is_true(x); }
  static void merge(std::int64_t& a, std::int64_t b) { a += b; }
  static std::int64_t run(const T* x, std::int64_t stride, std::int64_t count, std::int64_t, std::int64_t) {
    return count_true(x, stride, count);
  }
};

/// A value's place in the order and the number of the element it came from; -1: none yet.
struct Candidate {
  std::int64_t order;
  std::int64_t number;
};

template <class T, bool Largest>
struct Position {
  using Accumulator = Candidate;
  static constexpr bool exchangeable = false;

  static Order<T> place(T x) { return key_of<T, Largest, true>(x); }
  static std::int64_t widened(Order<T> order) {
    if constexpr (std::same_as<T, std::uint64_t>)
      return static_cast<std::int64_t>(order ^ (std::uint64_t{1} << 63));
    else
      return static_cast<std::int64_t>(order);
  }
  static bool beats(auto b, auto a) { return Largest ? b > a : b < a; }

  static Candidate empty() { return {0, -1}; }
  static void take(Candidate& a, T x, std::int64_t number) { merge(a, {widened(place(x)), number}); }
  static void merge(Candidate& a, Candidate b) {
    if (b.number >= 0 && (a.number < 0 || beats(b.order, a.order) || (b.order == a.order && b.number < a.number))) a = b;
  }

  // The extreme of a piece first, by vector instructions; where it was only if it beats all before.
  static Candidate run(const T* x, std::int64_t stride, std::int64_t count, std::int64_t number, std::int64_t step) {
    Candidate best = empty();
    Order<T> top{};
    for (std::int64_t done = 0; done < count; done += block) {
      const auto n = std::min(block, count - done);
      const T* from = x + done * stride;
      const auto here = extreme_key<Largest, true>(from, stride, n);
      if (best.number >= 0 && !beats(here, top)) continue;
      std::int64_t i = 0;
      while (place(from[i * stride]) != here) ++i;
      top = here;
      best = {widened(here), number + (done + i) * step};
    }
    return best;
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

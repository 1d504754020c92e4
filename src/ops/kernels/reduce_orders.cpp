// The table of extremes, their positions, and truths.

#include <algorithm>
#include <bit>
#include <cstring>
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
// or devices shows. NaN is beyond the infinities, on the side of its sign.
template <class T>
[[gnu::always_inline]] inline Order<T> signed_order_of(T x) {
  if constexpr (std::integral<T>) {
    return x;
  } else {
    using K = Order<T>;
    const auto bits = std::bit_cast<K>(x);
    return static_cast<K>(bits ^ ((bits >> (8 * sizeof(K) - 1)) & std::numeric_limits<K>::max()));
  }
}

/// The order that stands for NaN of either sign: beyond everything on the side that is asked for.
template <class T, bool Largest>
constexpr Order<T> nan_order = Largest ? std::numeric_limits<Order<T>>::max() : std::numeric_limits<Order<T>>::min();

template <class T, bool Largest>
[[gnu::always_inline]] inline Order<T> order_of(T x) {
  if constexpr (std::integral<T>) {
    return x;
  } else {
    using K = Order<T>;
    const bool nan = static_cast<K>(std::bit_cast<K>(x) & std::numeric_limits<K>::max()) > infinity_bits<T>();
    return nan ? nan_order<T, Largest> : signed_order_of(x);
  }
}

/// Where positions are asked for, zeros of either sign are equal: the first counts.
template <class T, bool EqualZeros>
[[gnu::always_inline]] inline Order<T> key_of_order(Order<T> order) {
  if constexpr (std::integral<T> || !EqualZeros)
    return order;
  else
    return order == -1 ? Order<T>{0} : order;
}

// Both ends are sought, of the plain order: NaN of either sign then shows at one of them, once for all elements.
template <class T, bool Largest, bool EqualZeros>
[[gnu::always_inline]] inline Order<T> extreme_of(const T* x, std::int64_t stride, std::int64_t count) {
  using K = Order<T>;
  K top = std::numeric_limits<K>::min(), bottom = std::numeric_limits<K>::max();
  const auto take = [&](T value) {
    const K order = signed_order_of(value);
    if constexpr (!std::integral<T> || Largest) top = order > top ? order : top;
    if constexpr (!std::integral<T> || !Largest) bottom = order < bottom ? order : bottom;
  };
  if (stride == 1)
    for (std::int64_t i = 0; i < count; ++i) take(x[i]);
  else
    for (std::int64_t i = 0; i < count; ++i) take(x[i * stride]);
  if constexpr (!std::integral<T>)
    if (top > infinity_bits<T>() || bottom < ~infinity_bits<T>()) return nan_order<T, Largest>;
  return key_of_order<T, EqualZeros>(Largest ? top : bottom);
}

template <class T, bool Largest>
struct Extreme {
  using Accumulator = Order<T>;
  static constexpr bool exchangeable = true;
  static Accumulator empty() { return Largest ? std::numeric_limits<Accumulator>::min() : std::numeric_limits<Accumulator>::max(); }
  static void take(Accumulator& a, T x, std::int64_t) { merge(a, order_of<T, Largest>(x)); }
  static void merge(Accumulator& a, Accumulator b) { a = (Largest ? b > a : b < a) ? b : a; }
  [[gnu::always_inline]] static Accumulator run(const T* x, std::int64_t stride, std::int64_t count, std::int64_t, std::int64_t) {
    return extreme_of<T, Largest, false>(x, stride, count);
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

// Truths are counted, in a number as wide as an element: that makes the same vectors of all of them.
template <class T>
using Count = std::conditional_t<is_complex_v<T>, std::conditional_t<sizeof(T) == 8, std::uint32_t, std::uint64_t>,
                                 std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                                    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>>;
template <class T>
struct Counted {
  using Near = Count<T>;
  static constexpr bool exchangeable = true;
  static Near near_empty() { return 0; }
  static void take_near(Near& a, T x) { a = static_cast<Near>(a + (is_true(x) ? 1 : 0)); }
};

template <class T>
struct All : Counted<T> {
  using Accumulator = bool;
  static bool empty() { return true; }
  static void take(bool& a, T x, std::int64_t) { a = a & is_true(x); }
  static void merge(bool& a, bool b) { a = a & b; }
  static void gather(bool& a, Count<T> b, std::int64_t rows) { a = a & (static_cast<std::int64_t>(b) == rows); }
};
template <class T>
struct Any : Counted<T> {
  using Accumulator = bool;
  static bool empty() { return false; }
  static void take(bool& a, T x, std::int64_t) { a = a | is_true(x); }
  static void merge(bool& a, bool b) { a = a | b; }
  static void gather(bool& a, Count<T> b, std::int64_t) { a = a | (b != 0); }
};
template <class T>
struct CountNonzero : Counted<T> {
  using Accumulator = std::int64_t;
  static std::int64_t empty() { return 0; }
  static void take(std::int64_t& a, T x, std::int64_t) { a += is_true(x); }
  static void merge(std::int64_t& a, std::int64_t b) { a += b; }
  static void gather(std::int64_t& a, Count<T> b, std::int64_t) { a += static_cast<std::int64_t>(b); }
};

/// A value's place in the order and the number of the element it came from; -1: none yet.
struct Candidate {
  std::int64_t order;
  std::int64_t number;
};

/// Elements side by side, and numbers as wide.
template <class T>
struct Lanes {
  static constexpr std::int64_t bytes = 32, width = bytes / static_cast<std::int64_t>(sizeof(T));
  using Number = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef T Values [[gnu::vector_size(bytes)]];
  typedef Number Numbers [[gnu::vector_size(bytes)]];
};

template <class T, bool Largest>
struct Position {
  using Accumulator = Candidate;
  static constexpr bool exchangeable = false;

  [[gnu::always_inline]] static Order<T> place(T x) { return key_of_order<T, true>(order_of<T, Largest>(x)); }
  static std::int64_t widened(Order<T> order) {
    if constexpr (std::same_as<T, std::uint64_t>)
      return static_cast<std::int64_t>(order ^ (std::uint64_t{1} << 63));
    else
      return static_cast<std::int64_t>(order);
  }
  static bool beats(auto b, auto a) { return Largest ? b > a : b < a; }
  // The same of elements; NaN beats all but NaN. Comparisons of floats are fewer instructions than their keys.
  [[gnu::always_inline]] static bool is_better(T x, T best) {
    if constexpr (std::floating_point<T>)
      return !(Largest ? x <= best : x >= best) & (best == best);
    else if constexpr (std::integral<T>)
      return beats(x, best);
    else
      return beats(place(x), place(best));
  }

  static Candidate empty() { return {0, -1}; }
  static void take(Candidate& a, T x, std::int64_t number) { merge(a, {widened(place(x)), number}); }
  static void merge(Candidate& a, Candidate b) {
    if (b.number >= 0 && (a.number < 0 || beats(b.order, a.order) || (b.order == a.order && b.number < a.number))) a = b;
  }

  [[gnu::always_inline]] static Candidate run(const T* x, std::int64_t stride, std::int64_t count, std::int64_t number, std::int64_t step) {
    if (count == 0) return empty();
    if constexpr (sizeof(T) >= 4)
      if (stride == 1 && count >= run_in_lanes) return lanes(x, count, number, step);
    return in_pieces(x, stride, count, number, step);
  }

  // In each of these lanes the best element and the number of its block; the best of them at the end. A second look for its place would cost short runs more
  // than the first: 0.43 to 0.81 of the reading limit for runs of 128 floats.
  static constexpr std::int64_t run_in_lanes = 64 / sizeof(T);
  [[gnu::always_inline]] static Candidate lanes(const T* x, std::int64_t count, std::int64_t number, std::int64_t step) {
    using Values = typename Lanes<T>::Values;
    using Numbers = typename Lanes<T>::Numbers;
    using Number = typename Lanes<T>::Number;
    constexpr auto width = Lanes<T>::width, vectors = run_in_lanes / width;
    Values best[vectors];
    Numbers where[vectors], nan{};
    std::memcpy(best, x, sizeof best);
    for (auto& block : where) block = Numbers{};
    if constexpr (std::floating_point<T>)
      for (const auto& v : best) nan |= v != v;
    const auto blocks = std::min(count / run_in_lanes, std::int64_t{std::numeric_limits<std::int32_t>::max()} / run_in_lanes);
    for (std::int64_t block = 1; block < blocks; ++block)
      for (std::int64_t v = 0; v < vectors; ++v) {
        Values here;
        std::memcpy(&here, x + (block * vectors + v) * width, sizeof here);
        const Numbers better = Largest ? here > best[v] : here < best[v];
        best[v] = better ? here : best[v];
        where[v] = better ? Numbers{} + static_cast<Number>(block) : where[v];
        if constexpr (std::floating_point<T>) nan |= here != here;
      }
    if constexpr (std::floating_point<T>) {
      Number any = 0;
      for (std::int64_t i = 0; i < width; ++i) any |= nan[i];
      if (any != 0) return in_pieces(x, 1, count, number, step);
    }
    const auto take_better = [](Values& a, Numbers& at, const Values& b, const Numbers& other) __attribute__((always_inline)) {
      const Numbers better = (Largest ? b > a : b < a) | ((a == b) & (other < at));
      a = better ? b : a;
      at = better ? other : at;
    };
    Numbers lane;
    for (std::int64_t i = 0; i < width; ++i) lane[i] = static_cast<Number>(i);
    for (std::int64_t v = 0; v < vectors; ++v) where[v] = where[v] * static_cast<Number>(run_in_lanes) + (lane + static_cast<Number>(v * width));
    for (auto span = vectors / 2; span > 0; span /= 2)
      for (std::int64_t v = 0; v < span; ++v) take_better(best[v], where[v], best[v + span], where[v + span]);
    // Halves against each other, until the first lane has it.
    for (auto span = width / 2; span > 0; span /= 2) {
      const Numbers across = lane ^ static_cast<Number>(span);
      take_better(best[0], where[0], __builtin_shuffle(best[0], across), __builtin_shuffle(where[0], across));
    }
    const T top = best[0][0];
    const std::int64_t found = where[0][0];
    Candidate candidate{widened(place(top)), number + found * step};
    const auto done = blocks * run_in_lanes;
    if (done < count) merge(candidate, in_pieces(x + done, 1, count - done, number + done * step, step));
    return candidate;
  }

  // The extreme of each piece, by vector instructions; where it is in the best of them at the end.
  [[gnu::always_inline]] static Candidate in_pieces(const T* x, std::int64_t stride, std::int64_t count, std::int64_t number,
                                                    std::int64_t step) {
    constexpr std::int64_t piece = 1024;
    Order<T> top = extreme_of<T, Largest, true>(x, stride, std::min(piece, count));
    std::int64_t from = 0;
    for (std::int64_t done = piece; done < count; done += piece) {
      const auto here = extreme_of<T, Largest, true>(x + done * stride, stride, std::min(piece, count - done));
      if (!beats(here, top)) continue;
      top = here;
      from = done;
    }
    return {widened(top), number + (from + first_of(x + from * stride, stride, std::min(piece, count - from), top)) * step};
  }

  // Stretches of a fixed length without a branch an element, in numbers as wide as a key; it is somewhere.
  [[gnu::always_inline]] static std::int64_t first_of(const T* x, std::int64_t stride, std::int64_t count, Order<T> key) {
    using Number = std::conditional_t<sizeof(T) == 1, std::int8_t,
                                      std::make_signed_t<std::conditional_t<std::same_as<T, bool>, std::int8_t, Order<T>>>>;
    constexpr Number stretch = 64;
    std::int64_t done = 0;
    if (stride == 1)
      for (; done + stretch <= count; done += stretch) {
        Number first = stretch;
        for (Number i = 0; i < stretch; ++i) {
          const Number here = place(x[done + i]) == key ? i : stretch;
          first = here < first ? here : first;
        }
        if (first < stretch) return done + first;
      }
    while (place(x[done * stride]) != key) ++done;
    return done;
  }

  template <std::int64_t Rows, class Number>
  [[gnu::always_inline]] static void take_lanes(const T* row, std::int64_t row_step, std::int64_t r, T* tops, Number* where) {
    typename Lanes<T>::Values top, here;
    typename Lanes<T>::Numbers from, better;
    std::memcpy(&top, tops, sizeof top);
    std::memcpy(&from, where, sizeof from);
    for (std::int64_t k = 0; k < Rows; ++k) {
      std::memcpy(&here, row + k * row_step, sizeof here);
      if constexpr (std::floating_point<T>)
        better = ~(Largest ? here <= top : here >= top) & (top == top);
      else
        better = Largest ? here > top : here < top;
      top = better ? here : top;
      from = better ? decltype(from){} + static_cast<Number>(r + k) : from;
    }
    std::memcpy(tops, &top, sizeof top);
    std::memcpy(where, &from, sizeof from);
  }

  // An element and the number of its row, of the same width: both stay in vectors.
  MESHWISE_WIDE static void rows(const T* __restrict x, std::int64_t stride, std::int64_t columns, std::int64_t rows, std::int64_t row_step,
                                 Candidate* __restrict out, std::int64_t index, std::int64_t step) {
    using Row = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                   std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>>;
    alignas(64) T tops[row_tile];
    alignas(64) Row where[row_tile];
    for (std::int64_t i = 0; i < columns; ++i) {
      tops[i] = x[i * stride];
      where[i] = 0;
    }
    each_rows<T>(stride, columns, 1, rows, [&](std::int64_t r, auto together) {
      const T* __restrict row = x + r * row_step;
      std::int64_t i = 0;
      if constexpr (sizeof(T) >= 4)
        if (stride == 1)
          for (; i + Lanes<T>::width <= columns; i += Lanes<T>::width) take_lanes<together()>(row + i, row_step, r, tops + i, where + i);
      for (; i < columns; ++i)
        for (std::int64_t k = 0; k < together(); ++k) {
          const auto here = row[i * stride + k * row_step];
          const bool better = is_better(here, tops[i]);
          tops[i] = better ? here : tops[i];
          where[i] = better ? static_cast<Row>(r + k) : where[i];
        }
    });
    for (std::int64_t i = 0; i < columns; ++i)
      merge(out[i], {widened(place(tops[i])), index + static_cast<std::int64_t>(where[i]) * step});
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

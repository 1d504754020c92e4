#pragma once
// How a table entry of a reduction is written: a class template over the element type,
//
//   Accumulator, empty(), take(accumulator, element, number), merge(accumulator, accumulator), `exchangeable`: numbers don't matter
//
// and, to be faster: Near with near_empty(), take_near(near, element), gather(accumulator, near, rows): what a column of at most row_group elements is gathered in;
// run(x, stride, count, number, step), one run; rows(...), as in ReduceSlot.

#include <algorithm>

#include "base/wide.hpp"
#include "ops/kernels/elementwise_entry.hpp"
#include "ops/kernels/reduce_op.hpp"

namespace meshwise::detail {

/// What an element is computed as.
template <class T>
using Value = std::conditional_t<is_half_v<T>, float, T>;

template <class T>
Value<T> value_of(T x) {
  return static_cast<Value<T>>(x);
}

template <class R, class T>
struct NearOf {
  using type = typename R::Accumulator;
  static type empty() { return R::empty(); }
  static void take(type& a, T x) { R::take(a, x, 0); }
  static void gather(typename R::Accumulator& a, type b, std::int64_t) { R::merge(a, b); }
};
template <class R, class T>
requires requires { typename R::Near; }
struct NearOf<R, T> {
  using type = typename R::Near;
  static type empty() { return R::near_empty(); }
  static void take(type& a, T x) { R::take_near(a, x); }
  static void gather(typename R::Accumulator& a, type b, std::int64_t rows) { R::gather(a, b, rows); }
};

/// f(first row, rows taken together) over all rows: eight a time where they are long, so that each column's value is fetched and put back once for
/// them; one after the other, as they lie in memory, where they are short and the hardware would not foresee eight places.
template <class T, class F>
[[gnu::always_inline]] inline void each_rows(std::int64_t stride, std::int64_t columns, std::int64_t first, std::int64_t rows, F&& f) {
  constexpr std::int64_t together = 4;
  std::int64_t r = first;
  if (stride == 1 && columns * static_cast<std::int64_t>(sizeof(T)) >= 4096)
    for (; r + together <= rows; r += together) f(r, std::integral_constant<std::int64_t, together>{});
  for (; r < rows; ++r) f(r, std::integral_constant<std::int64_t, 1>{});
}

template <class R, class T, class Near, std::int64_t Rows>
[[gnu::always_inline]] inline void near_rows(const T* __restrict x, std::int64_t stride, std::int64_t columns, std::int64_t row_step,
                                             Near* __restrict near) {
  const auto take = [&](std::int64_t i, std::int64_t at) {
    Near a = near[i];
    for (std::int64_t k = 0; k < Rows; ++k) NearOf<R, T>::take(a, x[at + k * row_step]);
    near[i] = a;
  };
  if (stride == 1)
    for (std::int64_t i = 0; i < columns; ++i) take(i, i);
  else
    for (std::int64_t i = 0; i < columns; ++i) take(i, i * stride);
}

template <class R, class T>
MESHWISE_WIDE void gather_rows(const T* x, std::int64_t stride, std::int64_t columns, std::int64_t rows, std::int64_t row_step,
                               typename R::Accumulator* __restrict out) {
  using N = NearOf<R, T>;
  alignas(64) typename N::type near[row_tile];
  for (std::int64_t i = 0; i < columns; ++i) near[i] = N::empty();
  each_rows<T>(stride, columns, 0, rows, [&](std::int64_t r, auto together) {
    near_rows<R, T, typename N::type, decltype(together)::value>(x + r * row_step, stride, columns, row_step, near);
  });
  for (std::int64_t i = 0; i < columns; ++i) N::gather(out[i], near[i], rows);
}

// Pairwise above this many elements: the error of a long float64 sum grows with the logarithm of its length.
constexpr std::int64_t block = 1024;

template <class R, class T>
[[gnu::always_inline]] inline typename R::Accumulator block_total(const T* x, std::int64_t stride, std::int64_t count) {
  constexpr std::int64_t ways = 8;
  typename R::Accumulator parts[ways];
  for (auto& part : parts) part = R::empty();
  std::int64_t i = 0;
  if (stride == 1)
    for (; i + ways <= count; i += ways)
      for (std::int64_t w = 0; w < ways; ++w) R::take(parts[w], x[i + w], 0);
  for (; i < count; ++i) R::take(parts[i % ways], x[i * stride], 0);
  for (std::int64_t span = ways / 2; span > 0; span /= 2)
    for (std::int64_t w = 0; w < span; ++w) R::merge(parts[w], parts[w + span]);
  return parts[0];
}

template <class R, class T>
MESHWISE_WIDE typename R::Accumulator wide_block_total(const T* x, std::int64_t stride, std::int64_t count) {
  return block_total<R>(x, stride, count);
}

template <class R, class T>
typename R::Accumulator total(const T* x, std::int64_t stride, std::int64_t count) {
  using A = typename R::Accumulator;
  if (count <= block) return wide_block_total<R>(x, stride, count);
  const auto half = (count / 2 + block - 1) / block * block;
  A a = total<R>(x, stride, half);
  R::merge(a, total<R>(x + half * stride, stride, count - half));
  return a;
}

template <class R, class T>
MESHWISE_WIDE void each_run(const T* x, std::int64_t stride, std::int64_t count, std::int64_t runs, std::int64_t run_step,
                            typename R::Accumulator* out, std::int64_t index, std::int64_t step) {
  if constexpr (requires { R::run(x, stride, count, index, step); }) {
    for (std::int64_t i = 0; i < runs; ++i, x += run_step) R::merge(out[i], R::run(x, stride, count, index, step));
  } else if (count > block) {
    for (std::int64_t i = 0; i < runs; ++i, x += run_step) R::merge(out[i], total<R>(x, stride, count));
  } else {
    for (std::int64_t i = 0; i < runs; ++i, x += run_step) R::merge(out[i], block_total<R>(x, stride, count));
  }
}

template <class R>
typename R::Accumulator* accumulators_of(std::byte* bytes) {
  return reinterpret_cast<typename R::Accumulator*>(bytes);
}

template <class R, class T>
constexpr ReduceSlot slot_of() {
  using A = typename R::Accumulator;
  ReduceSlot slot;
  if constexpr (sizeof(A) == 16)
    slot.accumulator = Dtype::complex128;
  else
    slot.accumulator = dtype_of<A>();
  slot.width = sizeof(A);
  slot.clear = [](std::byte* a, std::int64_t count) { std::fill_n(accumulators_of<R>(a), count, R::empty()); };
  slot.runs = [](const std::byte* x, std::int64_t stride, std::int64_t count, std::int64_t runs, std::int64_t run_step, std::byte* a,
                 std::int64_t index, std::int64_t step) {
    each_run<R>(reinterpret_cast<const T*>(x), stride, count, runs, run_step, accumulators_of<R>(a), index, step);
  };
  slot.rows = [](const std::byte* bytes, std::int64_t stride, std::int64_t columns, std::int64_t rows, std::int64_t row_step,
                 std::byte* out, std::int64_t index, std::int64_t step) {
    const T* x = reinterpret_cast<const T*>(bytes);
    if constexpr (requires { R::rows(x, stride, columns, rows, row_step, accumulators_of<R>(out), index, step); })
      R::rows(x, stride, columns, rows, row_step, accumulators_of<R>(out), index, step);
    else
      gather_rows<R>(x, stride, columns, rows, row_step, accumulators_of<R>(out));
  };
  slot.merge = [](std::byte* out, const std::byte* in, std::int64_t count) {
    A* __restrict a = accumulators_of<R>(out);
    const A* __restrict b = reinterpret_cast<const A*>(in);
    for (std::int64_t i = 0; i < count; ++i) R::merge(a[i], b[i]);
  };
  return slot;
}

template <template <class> class R, class... T>
constexpr ReduceOp entry(Types<T...>, const char* name, ReduceResult result, bool has_empty = true) {
  ReduceOp op{name, result, has_empty, !R<float>::exchangeable, {}};
  ((op.slots[static_cast<std::size_t>(dtype_of<T>())] = slot_of<R<T>, T>()), ...);
  return op;
}

using Ordered = Join<Booleans, Join<Reals, Halves>>;
using AllTypes = Join<Ordered, Complexes>;

}  // namespace meshwise::detail

#pragma once
// How a table entry of a reduction is written: a class template over the element type,
//
//   Accumulator, empty(), take(accumulator, element, number), merge(accumulator, accumulator), and run(x, stride, count, number, step) to be faster
//
// and `exchangeable`: any grouping of elements will do, numbers don't matter (the others have their own run).

#include <algorithm>

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

// Pairwise above this many elements: the error of a long float64 sum grows with the logarithm of its length.
constexpr std::int64_t block = 1024;

template <class R, class T>
typename R::Accumulator total(const T* x, std::int64_t stride, std::int64_t count) {
  using A = typename R::Accumulator;
  if (count > block) {
    const auto half = count / 2 / 8 * 8;
    A a = total<R>(x, stride, half);
    R::merge(a, total<R>(x + half * stride, stride, count - half));
    return a;
  }
  constexpr std::int64_t ways = 8;
  A parts[ways];
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
  slot.run = [](const std::byte* x, std::int64_t stride, std::int64_t count, std::byte* a, std::int64_t index, std::int64_t step) {
    const T* from = reinterpret_cast<const T*>(x);
    if constexpr (requires { R::run(from, stride, count, index, step); })
      R::merge(*accumulators_of<R>(a), R::run(from, stride, count, index, step));
    else
      R::merge(*accumulators_of<R>(a), total<R>(from, stride, count));
  };
  slot.row = [](const std::byte* bytes, std::int64_t stride, std::int64_t count, std::byte* out, std::int64_t index) {
    const T* __restrict x = reinterpret_cast<const T*>(bytes);
    A* __restrict a = accumulators_of<R>(out);
    if (stride == 1)
      for (std::int64_t i = 0; i < count; ++i) R::take(a[i], x[i], index);
    else
      for (std::int64_t i = 0; i < count; ++i) R::take(a[i], x[i * stride], index);
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

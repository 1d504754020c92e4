// The loops over libmvec's functions. Included by vector_functions_*.cpp alone: each defines a vector's size, MESHWISE_VECTOR_BYTES, and its functions'
// names by the x86 vector function ABI, MESHWISE_FLOAT32(arguments, name) and MESHWISE_FLOAT64. No function of the standard library is called: such a
// function, compiled here for AVX-512 and not inlined, could be the copy that the linker keeps for all of the library.
#pragma once

#include "ops/kernels/vector_functions.hpp"

namespace meshwise::detail {
namespace {

template <class T, int Bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(Bytes)));
};
using Float32s = VectorOf<float, MESHWISE_VECTOR_BYTES>::type;
using Float64s = VectorOf<double, MESHWISE_VECTOR_BYTES>::type;

extern "C" {
#define MESHWISE_DECLARE(f)                  \
  Float32s MESHWISE_FLOAT32(v, f)(Float32s); \
  Float64s MESHWISE_FLOAT64(v, f)(Float64s);
MESHWISE_VECTOR_UNARY(MESHWISE_DECLARE)
#undef MESHWISE_DECLARE
#define MESHWISE_DECLARE(f)                             \
  Float32s MESHWISE_FLOAT32(vv, f)(Float32s, Float32s); \
  Float64s MESHWISE_FLOAT64(vv, f)(Float64s, Float64s);
MESHWISE_VECTOR_BINARY(MESHWISE_DECLARE)
#undef MESHWISE_DECLARE
}

template <class V>
struct Elements {
  using type = float;
};
template <>
struct Elements<Float64s> {
  using type = double;
};

template <class V>
constexpr auto width_of = static_cast<std::int64_t>(sizeof(V) / sizeof(typename Elements<V>::type));

// Fewer than a vector's: the last one fills it, which disturbs no neighbour.
template <class V>
[[gnu::always_inline]] inline V load(const std::byte* at, std::int64_t count) {
  V v;
  if (count >= width_of<V>) {
    __builtin_memcpy(&v, at, sizeof v);
    return v;
  }
  typename Elements<V>::type values[width_of<V>];
  for (std::int64_t i = 0; i < width_of<V>; ++i)
    __builtin_memcpy(values + i, at + (i < count ? i : count - 1) * static_cast<std::int64_t>(sizeof *values), sizeof *values);
  __builtin_memcpy(&v, values, sizeof v);
  return v;
}

// f(offset in bytes, elements from there on), for every vector.
template <class V, class F>
[[gnu::always_inline]] inline void each_vector(std::byte* out, std::int64_t count, F&& f) {
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(V));
  std::int64_t at = 0;
  for (; count >= width_of<V>; count -= width_of<V>, at += bytes) {
    const V v = f(at, width_of<V>);
    __builtin_memcpy(out + at, &v, sizeof v);
  }
  if (count == 0) return;
  const V v = f(at, count);
  __builtin_memcpy(out + at, &v, static_cast<std::size_t>(count * (bytes / width_of<V>)));
}

template <class V, V (*f)(V)>
void unary_vectors(const OperandLane* lanes, std::byte* out, std::int64_t count) {
  const auto* x = lanes[0].data;
  each_vector<V>(out, count, [x](std::int64_t at, std::int64_t left) { return f(load<V>(x + at, left)); });
}

template <class V, V (*f)(V, V)>
void binary_vectors(const OperandLane* lanes, std::byte* out, std::int64_t count) {
  const auto *x = lanes[0].data, *y = lanes[1].data;
  const bool single = lanes[0].single, single_too = lanes[1].single;
  const V a = load<V>(x, single ? 1 : count), b = load<V>(y, single_too ? 1 : count);
  each_vector<V>(out, count, [&](std::int64_t at, std::int64_t left) {
    return f(single ? a : load<V>(x + at, left), single_too ? b : load<V>(y + at, left));
  });
}

#define MESHWISE_UNARY32(f) &unary_vectors<Float32s, MESHWISE_FLOAT32(v, f)>,
#define MESHWISE_UNARY64(f) &unary_vectors<Float64s, MESHWISE_FLOAT64(v, f)>,
#define MESHWISE_BINARY32(f) &binary_vectors<Float32s, MESHWISE_FLOAT32(vv, f)>,
#define MESHWISE_BINARY64(f) &binary_vectors<Float64s, MESHWISE_FLOAT64(vv, f)>,
constexpr VectorFunctions loops{{MESHWISE_VECTOR_UNARY(MESHWISE_UNARY32) MESHWISE_VECTOR_BINARY(MESHWISE_BINARY32)},
                                {MESHWISE_VECTOR_UNARY(MESHWISE_UNARY64) MESHWISE_VECTOR_BINARY(MESHWISE_BINARY64)}};

}  // namespace
}  // namespace meshwise::detail

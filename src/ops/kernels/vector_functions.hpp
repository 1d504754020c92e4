#pragma once
// Functions of the C library that its vector library (glibc's libmvec) computes for several elements at once, within 4 units in the last
// place and with C's special values. An operation of such a name takes these loops; without the library its own.

#include <array>
#include <cstddef>
#include <string_view>

#include "meshwise/base/dtype.hpp"
#include "ops/kernels/elementwise_loop.hpp"

// clang-format off
#define MESHWISE_VECTOR_UNARY(X) \
  X(exp) X(expm1) X(log) X(log1p) X(log2) X(log10) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) \
  X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh)
#define MESHWISE_VECTOR_BINARY(X) X(atan2) X(pow) X(hypot)
// clang-format on

namespace meshwise::detail {

#define MESHWISE_NAME(f) #f,
inline constexpr std::string_view vector_function_names[] = {MESHWISE_VECTOR_UNARY(MESHWISE_NAME) MESHWISE_VECTOR_BINARY(MESHWISE_NAME)};
#undef MESHWISE_NAME
inline constexpr int vector_function_count = static_cast<int>(std::size(vector_function_names));
inline constexpr int no_vector_function = -1;

constexpr int vector_function_named(std::string_view name) {
  for (int i = 0; i < vector_function_count; ++i)
    if (vector_function_names[i] == name) return i;
  return no_vector_function;
}

/// Local. The loops of one instruction set. An element's bits depend neither on its place nor on its neighbours: a rest shorter than a vector
/// is filled up.
struct VectorFunctions {
  std::array<ElementwiseLoop, static_cast<std::size_t>(vector_function_count)> float32{}, float64{};
};
/// Local. The chosen kernel set's, which is the same on all ranks; none where there is no such library.
ElementwiseLoop vector_loop(int function, Dtype dtype);

extern const VectorFunctions sse2_vector_functions, avx2_vector_functions, avx512_vector_functions;

}  // namespace meshwise::detail

#include "ops/kernels/vector_functions.hpp"

#include "runtime/kernels/copy.hpp"

namespace meshwise::detail {

ElementwiseLoop vector_loop(int function, Dtype dtype) {
#if defined(MESHWISE_LIBMVEC)
  if (function == no_vector_function || (dtype != Dtype::float32 && dtype != Dtype::float64)) return nullptr;
  const auto set = kernel_set();
  const auto& functions = set == KernelSet::avx512 ? avx512_vector_functions
                          : set == KernelSet::avx2 ? avx2_vector_functions
                                                   : sse2_vector_functions;
  return (dtype == Dtype::float32 ? functions.float32 : functions.float64)[static_cast<std::size_t>(function)];
#else
  static_cast<void>(function), static_cast<void>(dtype);
  return nullptr;
#endif
}

}  // namespace meshwise::detail

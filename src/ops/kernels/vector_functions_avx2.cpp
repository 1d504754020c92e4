#if defined(MESHWISE_LIBMVEC)

#define MESHWISE_VECTOR_BYTES 32
#define MESHWISE_FLOAT32(arguments, name) _ZGVdN8##arguments##_##name##f
#define MESHWISE_FLOAT64(arguments, name) _ZGVdN4##arguments##_##name
#include "ops/kernels/vector_loops.hpp"

namespace meshwise::detail {

const VectorFunctions avx2_vector_functions = loops;

}  // namespace meshwise::detail

#endif

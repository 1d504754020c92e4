#if defined(MESHWISE_LIBMVEC)

#define MESHWISE_VECTOR_BYTES 64
#define MESHWISE_FLOAT32(arguments, name) _ZGVeN16##arguments##_##name##f
#define MESHWISE_FLOAT64(arguments, name) _ZGVeN8##arguments##_##name
#include "ops/kernels/vector_loops.hpp"

namespace meshwise::detail {

const VectorFunctions avx512_vector_functions = loops;

}  // namespace meshwise::detail

#endif

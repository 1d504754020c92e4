#if defined(MESHWISE_LIBMVEC)

#define MESHWISE_VECTOR_BYTES 16
#define MESHWISE_FLOAT32(arguments, name) _ZGVbN4##arguments##_##name##f
#define MESHWISE_FLOAT64(arguments, name) _ZGVbN2##arguments##_##name
#include "ops/kernels/vector_loops.hpp"

namespace meshwise::detail {

const VectorFunctions sse2_vector_functions = loops;

}  // namespace meshwise::detail

#endif

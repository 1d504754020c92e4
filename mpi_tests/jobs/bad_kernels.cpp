// Kernels that don't exist are refused on all ranks; rank 0's setting governs.
// ranks: 1 4
// env: MESHWISE_KERNELS=sse2
// exit: nonzero
// within: 5
// once: MESHWISE_KERNELS=sse2 is not a setting meshwise knows: it may be portable, avx2 or avx512
#include "support/runtime_calls.hpp"

int main(int argc, char** argv) {
  const meshwise::Environment env(argc, argv);
  return 0;
}

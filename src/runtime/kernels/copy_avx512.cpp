#define MESHWISE_LANES 4
#include "runtime/kernels/copy_transposed.hpp"

namespace meshwise::detail {

const CopyKernels avx512_copy_kernels{runs, runs_streamed, transposed<false>, transposed<true>, tile_streamed, fence};

}  // namespace meshwise::detail

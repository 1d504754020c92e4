#define MESHWISE_LANES 2
#include "runtime/kernels/copy_transposed.hpp"

namespace meshwise::detail {

const CopyKernels avx2_copy_kernels{runs, runs_streamed, transposed<false>, transposed<true>, tile_streamed, fence};

}  // namespace meshwise::detail

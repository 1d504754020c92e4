#pragma once
// The inner loops of a strided copy, one set per instruction set.

#include <cstddef>
#include <cstdint>

namespace meshwise::detail {

struct CopyAxis {
  std::int64_t extent, from, to;  // `from`, `to`: bytes between neighbours in source and target; `to` is never negative
};

/// Local. Copies outer.extent x inner.extent runs of `run` bytes. |outer.to| >= |inner.to|, except in a transposition: there the source's neighbours
/// lie along `outer` (outer.from == run) and the target's along `inner` (inner.to == run).
using CopyKernel = void (*)(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner, std::int64_t run);

/// Kernels that leave the target in the caches, and kernels that write whole lines past them and fence.
struct CopyKernels {
  CopyKernel runs, runs_streamed, transposed, transposed_streamed;
};

extern const CopyKernels portable_copy_kernels;

}  // namespace meshwise::detail

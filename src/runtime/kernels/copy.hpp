#pragma once
// The inner loops of a strided copy, one set per instruction set.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace meshwise::detail {

struct CopyAxis {
  std::int64_t extent, from, to;  // `from`, `to`: bytes between neighbours in source and target; `to` is never negative
};

/// Local. Copies outer.extent x inner.extent runs of `run` bytes. |outer.to| >= |inner.to|, except in a transposition: there the source's neighbours
/// lie along `outer` and the target's along `inner` (inner.to == run).
using CopyKernel = void (*)(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner, std::int64_t run);

/// Kernels that leave the target in the caches, and kernels that write whole lines past them.
struct CopyKernels {
  CopyKernel runs, runs_streamed, transposed, transposed_streamed;
  void (*tile_streamed)(const std::byte* from, std::byte* to, std::int64_t bytes);  // from the nearest cache
  void (*fence)();  // after streaming, before anybody is told
};

/// In the order of their worth: a mixed job takes the least of its ranks'.
enum class KernelSet : std::uint8_t { portable, avx2, avx512 };
KernelSet best_kernel_set();  // Local. That this CPU runs and this library has.
KernelSet kernel_set();       // Local. The chosen one: the best, unless told otherwise.
void choose_kernel_set(KernelSet set);
const CopyKernels& copy_kernels();  // Local. Of the chosen set.

/// Local. From so many bytes a call and rank on, targets are streamed. Tests lower it.
std::int64_t streams_from();
void set_streams_from(std::int64_t bytes);

extern const CopyKernels portable_copy_kernels, avx2_copy_kernels, avx512_copy_kernels;

}  // namespace meshwise::detail

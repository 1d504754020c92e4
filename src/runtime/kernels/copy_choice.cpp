#include <atomic>

#include "runtime/kernels/copy.hpp"

namespace meshwise::detail {
namespace {

const CopyKernels& kernels_of(KernelSet set) {
  switch (set) {
    case KernelSet::avx512:
      return avx512_copy_kernels;
    case KernelSet::avx2:
      return avx2_copy_kernels;
    case KernelSet::portable:
      break;
  }
  return portable_copy_kernels;
}

// Read on every band: relaxed loads of what changes at the start of the program alone, and in tests.
std::atomic<KernelSet> chosen{best_kernel_set()};
std::atomic<const CopyKernels*> kernels{&kernels_of(best_kernel_set())};
// Copied and then read by two ranks beside 32 MiB of last-level cache: 4 MiB a rank are 0.8 of the time when cached, 8 MiB 1.16.
std::atomic<std::int64_t> threshold{std::int64_t{8} << 20};

}  // namespace

KernelSet best_kernel_set() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // this runs before main
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return KernelSet::avx512;
  if (__builtin_cpu_supports("avx2")) return KernelSet::avx2;
#endif
  return KernelSet::portable;
}

KernelSet kernel_set() { return chosen.load(std::memory_order_relaxed); }

void choose_kernel_set(KernelSet set) {
  const KernelSet best = best_kernel_set(), possible = set < best ? set : best;
  chosen.store(possible, std::memory_order_relaxed);
  kernels.store(&kernels_of(possible), std::memory_order_relaxed);
}

const CopyKernels& copy_kernels() { return *kernels.load(std::memory_order_relaxed); }

std::int64_t streams_from() { return threshold.load(std::memory_order_relaxed); }
void set_streams_from(std::int64_t bytes) { threshold.store(bytes, std::memory_order_relaxed); }

}  // namespace meshwise::detail

// Copies strided boxes at the speed of memory.
#include <cstring>

#include "meshwise/runtime/transport.hpp"
#include "runtime/copier.hpp"
#include "runtime/kernels/copy.hpp"
#include "runtime/runtime.hpp"
#include "runtime/strided.hpp"

namespace meshwise::detail {

void copy_strided(const std::byte* from, std::byte* to, std::size_t ndim, const std::int64_t* extents, const std::int64_t* from_strides,
                  const std::int64_t* to_strides, std::size_t itemsize) {
  auto total = static_cast<std::int64_t>(itemsize);
  bool whole = true;
  for (std::size_t k = ndim; k-- > 0;) {
    if (extents[k] == 1) continue;
    whole = whole && from_strides[k] == total && to_strides[k] == total;
    total *= extents[k];
  }
  if (total == 0) return;
  if (whole && total < streams_from()) {  // most copies are one run, and many are small
    std::memcpy(to, from, static_cast<std::size_t>(total));
    return;
  }
  const Copier copier(ndim, extents, from_strides, to_strides, itemsize, total);
  for (std::int64_t band = 0; band < copier.bands(); ++band) copier.run_unfenced(from, to, band);
  if (copier.streams()) Copier::fence();
}

std::int64_t StridedBox::bytes() const {
  auto total = static_cast<std::int64_t>(itemsize);
  for (const auto extent : extents) total *= extent;
  return total;
}

std::int64_t StridedBox::run_bytes() const {
  auto run = static_cast<std::int64_t>(itemsize);
  for (std::size_t d = extents.size(); d-- > 0;) {
    if (extents[d] == 1) continue;
    if (strides[d] != run) break;
    run *= extents[d];
  }
  return run;
}

void copy_box(const StridedBox& source, const StridedBox& target) {
  runtime().bytes_copied.fetch_add(source.bytes(), std::memory_order_relaxed);
  copy_strided(source.base, target.base, source.extents.size(), source.extents.data(), source.strides.data(), target.strides.data(),
               source.itemsize);
}

}  // namespace meshwise::detail

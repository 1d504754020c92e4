// What to copy is decided here: axes are turned, sorted and merged, so that what is contiguous in both becomes one run; then cut into bands.
#include "runtime/copier.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "runtime/kernels/copy.hpp"

namespace meshwise::detail {
namespace {

constexpr std::int64_t long_run = 512;         // from here on a run is worth its own stream
constexpr std::int64_t long_band_bytes = 512 << 10;  // a band is claimed and read while its producer's lines may still be near
constexpr std::int64_t tile_source = 4096, tile_target = 2048;
constexpr std::int64_t short_band_bytes = 32 << 10;  // the lines around it fit the caches until the next copier comes by

std::atomic<std::int64_t> most_band{long_band_bytes};

std::int64_t largest_power(std::int64_t n) {
  std::int64_t power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

// Bytes that stand together in one of the two memories.
template <class Axis>
std::int64_t contiguous(const Axis* axes, std::size_t count, std::int64_t run, std::int64_t Axis::*stride) {
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t k = 0; k < count; ++k) {
      if (std::abs(axes[k].*stride) == run) {
        run *= axes[k].extent;
        grown = true;
      }
    }
  }
  return run;
}

// The axes around the kernel's two turn like the wheels of a counter.
void copy_around(CopyKernel kernel, const std::byte* from, std::byte* to, const CopyAxis* around, std::size_t count, const CopyAxis& outer,
                 const CopyAxis& inner, std::int64_t run) {
  std::array<std::int64_t, 8> at{};
  for (;;) {
    kernel(from, to, outer, inner, run);
    std::size_t k = count;
    for (;;) {
      if (k == 0) return;
      --k;
      from += around[k].from;
      to += around[k].to;
      if (++at[k] < around[k].extent) break;
      from -= around[k].from * around[k].extent;
      to -= around[k].to * around[k].extent;
      at[k] = 0;
    }
  }
}

}  // namespace

Copier::Copier(std::size_t ndim, const std::int64_t* extents, const std::int64_t* from_strides, const std::int64_t* to_strides,
               std::size_t itemsize, std::int64_t total_bytes) {
  if (itemsize == 0) return;
  std::size_t count = 0;
  for (std::size_t k = 0; k < ndim; ++k) {
    if (extents[k] == 0) return;
    count += extents[k] > 1 ? 1 : 0;
  }
  std::vector<Axis> many;
  Axis* axes = axes_.data();
  if (count > most) {
    many.resize(count);
    axes = many.data();
  }
  // Sorted for the target as they come (writes cost more than reads): few axes, mostly in order already.
  count = 0;
  for (std::size_t k = 0; k < ndim; ++k) {
    if (extents[k] == 1) continue;
    Axis axis{extents[k], from_strides[k], to_strides[k], 1};
    if (axis.to < 0) {
      from_offset_ += axis.from * (axis.extent - 1);
      to_offset_ += axis.to * (axis.extent - 1);
      axis.from = -axis.from;
      axis.to = -axis.to;
    }
    std::size_t at = count++;
    for (; at > 0 && (axes[at - 1].to < axis.to || (axes[at - 1].to == axis.to && std::abs(axes[at - 1].from) < std::abs(axis.from)));
         --at) {
      axes[at] = axes[at - 1];
    }
    axes[at] = axis;
  }
  // Neighbours that are one run in both become one axis, and the innermost run grows the item.
  std::size_t kept = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (kept > 0 && axes[kept - 1].from == axes[k].from * axes[k].extent && axes[kept - 1].to == axes[k].to * axes[k].extent) {
      axes[kept - 1] = {axes[kept - 1].extent * axes[k].extent, axes[k].from, axes[k].to, 1};
    } else {
      axes[kept++] = axes[k];
    }
  }
  auto run = static_cast<std::int64_t>(itemsize);
  if (kept > 0 && axes[kept - 1].from == run && axes[kept - 1].to == run) run *= axes[--kept].extent;
  // The axis along which the source is nearest goes beside the innermost: a transposition.
  if (kept > 1 && axes[kept - 1].to == run) {
    Axis* best = std::min_element(axes, axes + kept - 1, [](const Axis& a, const Axis& b) { return std::abs(a.from) < std::abs(b.from); });
    if (std::abs(best->from) < std::abs(axes[kept - 1].from)) std::rotate(best, best + 1, axes + kept - 1);
  }
  make(axes, kept, run, total_bytes);
}

void Copier::set_most_band_bytes(std::int64_t bytes) { most_band.store(bytes, std::memory_order_relaxed); }

void Copier::make(const Axis* axes, std::size_t count, std::int64_t run, std::int64_t total_bytes) {
  run_ = run;
  streams_ = total_bytes >= streams_from();
  const std::int64_t source_run = contiguous(axes, count, run, &Axis::from), target_run = contiguous(axes, count, run, &Axis::to);
  short_source_ = source_run < long_run && target_run > source_run;
  short_target_ = target_run < long_run && source_run > target_run;
  if (count > most) outer_.assign(axes, axes + (count - most));
  if (axes != axes_.data()) {
    axes += outer_.size();
    count -= outer_.size();
    std::copy(axes, axes + count, axes_.begin());
  }
  count_ = static_cast<std::uint8_t>(count);
  const auto most_bytes = most_band.load(std::memory_order_relaxed);
  const std::int64_t long_band = std::min(long_band_bytes, most_bytes), short_band = std::min(short_band_bytes, most_bytes);
  const std::int64_t budget = std::min(source_run, target_run) < long_run ? short_band : long_band;
  run_step_ = std::min(run, long_band);
  bands_ = run <= long_band ? 1 : (run + run_step_ - 1) / run_step_;
  transposes_ = count > 1 && axes_[count - 1].to == run && std::abs(axes_[count - 2].from) < std::abs(axes_[count - 1].from);
  std::int64_t whole = run;
  for (std::size_t k = 0; k < count; ++k) whole *= axes_[k].extent;
  if (whole <= budget && outer_.empty()) {  // small ones are many: no division
    for (std::size_t k = 0; k < count; ++k) axes_[k].step = axes_[k].extent;
    return;
  }
  std::int64_t unit = bands_ > 1 ? budget : run_step_;  // a cut run: a band is a part of one
  for (std::size_t k = count; k-- > 0;) {
    Axis& axis = axes_[k];
    std::int64_t room = std::max<std::int64_t>(budget / unit, 1);
    // A transposition's tile: a few lines of each of a page's worth of target rows, which the translation buffers hold.
    if (transposes_ && k + 2 >= count) room = std::max<std::int64_t>((k + 1 == count ? tile_target : tile_source) / run, 1);
    axis.step = axis.extent <= room ? axis.extent : largest_power(room);
    unit = axis.step < axis.extent ? budget : unit * axis.extent;
    bands_ *= (axis.extent + axis.step - 1) / axis.step;
  }
  for (const Axis& axis : outer_) bands_ *= axis.extent;
}

void Copier::run(const std::byte* from, std::byte* to, std::int64_t band) const {
  run_unfenced(from, to, band);
  if (streams_) fence();
}

void Copier::fence() { copy_kernels().fence(); }

void Copier::run_unfenced(const std::byte* from, std::byte* to, std::int64_t band) const {
  from += from_offset_;
  to += to_offset_;
  std::int64_t run = run_;
  if (run_step_ < run_) {
    const std::int64_t parts = (run_ + run_step_ - 1) / run_step_, start = band % parts * run_step_;
    band /= parts;
    from += start;
    to += start;
    run = std::min(run_step_, run_ - start);
  }
  std::array<CopyAxis, most + 1> box;
  std::size_t outside = 0;
  for (std::size_t k = count_; k-- > 0;) {
    const Axis& axis = axes_[k];
    std::int64_t extent = axis.extent;
    if (axis.step < extent) {
      const std::int64_t parts = (extent + axis.step - 1) / axis.step, start = band % parts * axis.step;
      band /= parts;
      from += start * axis.from;
      to += start * axis.to;
      extent = std::min(axis.step, extent - start);
    }
    box[k] = {extent, axis.from, axis.to};
    if (k + 2 < count_ && extent > 1) outside = std::max<std::size_t>(outside, count_ - 2 - k);
  }
  for (std::size_t k = outer_.size(); k-- > 0;) {
    const std::int64_t at = band % outer_[k].extent;
    band /= outer_[k].extent;
    from += at * outer_[k].from;
    to += at * outer_[k].to;
  }
  constexpr CopyAxis once{1, 0, 0};
  const CopyAxis inner = count_ > 0 ? box[count_ - 1U] : once, next = count_ > 1 ? box[count_ - 2U] : once;
  const CopyKernels& kernels = copy_kernels();
  const CopyKernel kernel =
      transposes_ ? (streams_ ? kernels.transposed_streamed : kernels.transposed) : (streams_ ? kernels.runs_streamed : kernels.runs);
  copy_around(kernel, from, to, box.data() + (count_ - std::min<std::size_t>(count_, outside + 2)), outside, next, inner, run);
}

}  // namespace meshwise::detail

// Copies strided boxes at the speed of memory: axes are sorted and merged first, so that what is contiguous in both becomes one long run.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "meshwise/runtime/transport.hpp"
#include "runtime/runtime.hpp"
#include "runtime/strided.hpp"

namespace meshwise::detail {
namespace {

struct Axis {
  std::int64_t extent, from, to;  // `from`, `to`: bytes between neighbours in source and target
};

template <std::size_t Bytes>
void copy_line(const std::byte* from, std::byte* to, const Axis& axis) {
  for (std::int64_t i = 0; i < axis.extent; ++i) {
    std::memcpy(to, from, Bytes);  // a fixed size compiles to one load and one store
    from += axis.from;
    to += axis.to;
  }
}

// Source runs along `outer`, target along `inner`. A strip of the target is one cache line wide and written whole, line after line, from as many
// source rows at a time; its length keeps the pages of the target in the translation buffers until the next strip comes by.
template <std::size_t Bytes>
void copy_transposed(const std::byte* from, std::byte* to, const Axis& outer, const Axis& inner) {
  constexpr std::int64_t width = 64 / Bytes, length = 512;
  for (std::int64_t i0 = 0; i0 < outer.extent; i0 += length) {
    const std::int64_t i1 = std::min(i0 + length, outer.extent);
    for (std::int64_t j0 = 0; j0 < inner.extent; j0 += width) {
      const std::int64_t columns = std::min(width, inner.extent - j0);
      for (std::int64_t i = i0; i < i1; ++i) {
        const std::byte* source = from + i * outer.from + j0 * inner.from;
        std::byte* target = to + i * outer.to + j0 * inner.to;
        if (columns == width)
          copy_line<Bytes>(source, target, {width, inner.from, inner.to});
        else
          copy_line<Bytes>(source, target, {columns, inner.from, inner.to});
      }
    }
  }
}

template <std::size_t Bytes>
void copy_axes(const std::byte* from, std::byte* to, const Axis* axes, std::size_t count) {
  if (count == 0) {
    std::memcpy(to, from, Bytes);
  } else if (count == 1) {
    copy_line<Bytes>(from, to, axes[0]);
  } else if (count == 2 && std::abs(axes[0].from) < std::abs(axes[1].from)) {
    copy_transposed<Bytes>(from, to, axes[0], axes[1]);
  } else {
    for (std::int64_t i = 0; i < axes[0].extent; ++i) copy_axes<Bytes>(from + i * axes[0].from, to + i * axes[0].to, axes + 1, count - 1);
  }
}

void copy_runs(const std::byte* from, std::byte* to, const Axis* axes, std::size_t count, std::size_t run) {
  if (count == 0) {
    std::memcpy(to, from, run);
    return;
  }
  for (std::int64_t i = 0; i < axes[0].extent; ++i) copy_runs(from + i * axes[0].from, to + i * axes[0].to, axes + 1, count - 1, run);
}

void copy_sorted(const std::byte* from, std::byte* to, const Axis* axes, std::size_t count, std::size_t run) {
  switch (run) {
    case 1:
      return copy_axes<1>(from, to, axes, count);
    case 2:
      return copy_axes<2>(from, to, axes, count);
    case 4:
      return copy_axes<4>(from, to, axes, count);
    case 8:
      return copy_axes<8>(from, to, axes, count);
    case 16:
      return copy_axes<16>(from, to, axes, count);
    default:
      return copy_runs(from, to, axes, count, run);
  }
}

// Sorts for the target (writes cost more than reads), merges neighbours that are one run in both, and grows the item by the innermost run.
std::size_t simplify(Axis* axes, std::size_t count, std::size_t& run) {
  std::sort(axes, axes + count, [](const Axis& a, const Axis& b) {
    const auto at = std::abs(a.to), bt = std::abs(b.to);
    return at != bt ? at > bt : std::abs(a.from) > std::abs(b.from);
  });
  std::size_t kept = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (kept > 0 && axes[kept - 1].from == axes[k].from * axes[k].extent && axes[kept - 1].to == axes[k].to * axes[k].extent) {
      axes[kept - 1] = {axes[kept - 1].extent * axes[k].extent, axes[k].from, axes[k].to};
    } else {
      axes[kept++] = axes[k];
    }
  }
  const auto item = static_cast<std::int64_t>(run);
  if (kept > 0 && axes[kept - 1].from == item && axes[kept - 1].to == item) run *= static_cast<std::size_t>(axes[--kept].extent);
  // The axis along which the source is nearest goes beside the innermost, so that copy_axes sees the transposition.
  if (kept > 2 && axes[kept - 1].to == static_cast<std::int64_t>(run)) {
    auto* best = std::min_element(axes, axes + kept - 1, [](const Axis& a, const Axis& b) { return std::abs(a.from) < std::abs(b.from); });
    if (std::abs(best->from) < std::abs(axes[kept - 1].from)) std::rotate(best, best + 1, axes + kept - 1);
  }
  return kept;
}

}  // namespace

void copy_strided(const std::byte* from, std::byte* to, std::size_t ndim, const std::int64_t* extents, const std::int64_t* from_strides,
                  const std::int64_t* to_strides, std::size_t itemsize) {
  constexpr std::size_t most = 24;
  std::array<Axis, most> axes;
  std::size_t count = 0;
  for (std::size_t k = 0; k < ndim; ++k) {
    if (extents[k] == 0) return;
  }
  for (std::size_t k = 0; k < ndim; ++k) {
    if (extents[k] == 1) continue;
    if (count == most) {  // 2^24 items at least: the recursion costs nothing beside them
      for (std::int64_t i = 0; i < extents[k]; ++i) {
        std::vector<std::int64_t> rest(extents, extents + ndim);
        rest[k] = 1;
        copy_strided(from + i * from_strides[k], to + i * to_strides[k], ndim, rest.data(), from_strides, to_strides, itemsize);
      }
      return;
    }
    axes[count++] = {extents[k], from_strides[k], to_strides[k]};
  }
  std::size_t run = itemsize;
  count = simplify(axes.data(), count, run);
  copy_sorted(from, to, axes.data(), count, run);
}

std::int64_t StridedBox::bytes() const {
  auto total = static_cast<std::int64_t>(itemsize);
  for (const auto extent : extents) total *= extent;
  return total;
}

void copy_box(const StridedBox& source, const StridedBox& target) {
  runtime().bytes_copied.fetch_add(source.bytes(), std::memory_order_relaxed);
  copy_strided(source.base, target.base, source.extents.size(), source.extents.data(), source.strides.data(), target.strides.data(),
               source.itemsize);
}

}  // namespace meshwise::detail

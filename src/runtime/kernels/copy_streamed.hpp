// Runs that keep their order, in whole lines past the caches: rows and gathers. See copy_line.hpp.
#pragma once

#include "runtime/kernels/copy_runs.hpp"

namespace meshwise::detail {
namespace {

// Bytes of the source: short runs are fetched before they are needed, also those of the next band.
constexpr std::int64_t fetch_ahead = 4096;

// The hardware's prefetcher begins anew at every run, so each run fetches the next one's lines.
MESHWISE_INLINE void stream_run(std::byte* to, const std::byte* from, std::int64_t n, const std::byte* next) {
  const std::int64_t head = to_line_end(to) < n ? to_line_end(to) : n;
  copy_small(to, from, head);
  std::int64_t k = head;
  for (; k + 2 * line_bytes <= n; k += 2 * line_bytes) {
    __builtin_prefetch(next + k);
    __builtin_prefetch(next + k + line_bytes);
    const Line first = load_line(from + k), second = load_line(from + k + line_bytes);
    put<true>(to + k, first);
    put<true>(to + k + line_bytes, second);
  }
  if (k + line_bytes <= n) {
    __builtin_prefetch(next + k);
    put<true>(to + k, load_line(from + k));
    k += line_bytes;
  }
  copy_small(to + k, from + k, n - k);
}

void tile_streamed(const std::byte* from, std::byte* to, std::int64_t bytes) {
  const std::int64_t head = to_line_end(to) < bytes ? to_line_end(to) : bytes;
  copy_small(to, from, head);
  std::int64_t k = head;
  for (; k + line_bytes <= bytes; k += line_bytes) put<true>(to + k, load_line(from + k));
  copy_small(to + k, from + k, bytes - k);
}

// Sixteen bytes made of neighbours `step` apart.
template <std::int64_t Bytes, std::size_t... I>
MESHWISE_INLINE Lane lane_of(const std::byte* from, std::int64_t step, std::index_sequence<I...>) {
  using T = Unsigned<Bytes>;
  return reinterpret_cast<Lane>(Vector<T, 16>{load<T>(from + static_cast<std::int64_t>(I) * step)...});
}
template <std::int64_t Bytes>
MESHWISE_INLINE Line gathered_line(const std::byte* from, std::int64_t step) {
  if constexpr (Bytes <= 8) {
    constexpr std::int64_t each = 16 / Bytes;
    constexpr auto all = std::make_index_sequence<16 / Bytes>();
    return line_of(lane_of<Bytes>(from, step, all), lane_of<Bytes>(from + each * step, step, all),
                   lane_of<Bytes>(from + 2 * each * step, step, all), lane_of<Bytes>(from + 3 * each * step, step, all));
  } else if constexpr (Bytes == 16) {
    return line_of(load<Lane>(from), load<Lane>(from + step), load<Lane>(from + 2 * step), load<Lane>(from + 3 * step));
  } else {
    static_assert(Bytes == 32);
    return line_of(load<Lane>(from), load<Lane>(from + 16), load<Lane>(from + step), load<Lane>(from + step + 16));
  }
}

// Runs of a size that divides a line, into memory that is one run: lines are composed in registers.
template <std::int64_t Bytes>
void gather_lines(const std::byte* from, std::byte* to, const CopyAxis& axis) {
  constexpr std::int64_t each = line_bytes / Bytes;
  const std::int64_t step = axis.from < 0 ? -axis.from : axis.from, ahead = fetch_ahead / (step < 64 ? 64 : step) + 1;
  std::int64_t j = 0;
  const std::int64_t head = to_line_end(to) / Bytes;
  for (; j < axis.extent && j < head; ++j) __builtin_memcpy(to + j * Bytes, from + j * axis.from, Bytes);
  const std::byte* source = from + j * axis.from;
  std::byte* target = to + j * Bytes;
  for (; j + each <= axis.extent; j += each) {
    for (std::int64_t k = 0; k < each; ++k) __builtin_prefetch(source + (ahead + k) * axis.from);
    put<true>(target, gathered_line<Bytes>(source, axis.from));
    source += each * axis.from;
    target += line_bytes;
  }
  for (; j < axis.extent; ++j) __builtin_memcpy(to + j * Bytes, from + j * axis.from, Bytes);
}

// Runs of any size: they meet in a buffer in the nearest cache, whose lines stand to the target's as they will lie there.
void gather_staged(const std::byte* from, std::byte* to, const CopyAxis& axis, std::int64_t run) {
  constexpr std::int64_t full = 2048;
  alignas(64) std::byte stage[full + 512];
  const std::int64_t shift = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) & (line_bytes - 1));
  std::byte* line = to - shift;
  std::int64_t begin = shift, end = shift;
  const auto flush = [&] {
    std::int64_t k = 0;
    if (begin > 0 && end >= line_bytes) {
      copy_small(line + begin, stage + begin, line_bytes - begin);
      k = line_bytes;
      begin = 0;
    }
    for (; k + line_bytes <= end; k += line_bytes) put<true>(line + k, load_line(stage + k));
    line += k;
    end -= k;
    if (k > 0) put<false>(stage, load_line(stage + k));
  };
  for (std::int64_t j = 0; j < axis.extent; ++j) {
    for (std::int64_t k = 0; k < run; k += line_bytes) __builtin_prefetch(from + (axis.from < 0 ? -fetch_ahead : fetch_ahead) + k);
    copy_run(stage + end, from, run);
    end += run;
    from += axis.from;
    if (end >= full) flush();
  }
  flush();
  copy_small(line + begin, stage + begin, end - begin);
}

void gather(const std::byte* from, std::byte* to, const CopyAxis& axis, std::int64_t run) {
  if (run >= 2 * line_bytes && run % line_bytes == 0 && to_line_end(to) == 0) {
    for (std::int64_t j = 0; j < axis.extent; ++j) stream_run(to + j * run, from + j * axis.from, run, from + (j + 8) * axis.from);
    return;
  }
  if (to_line_end(to) % run == 0) {
    switch (run) {
      case 1:
        return gather_lines<1>(from, to, axis);
      case 2:
        return gather_lines<2>(from, to, axis);
      case 4:
        return gather_lines<4>(from, to, axis);
      case 8:
        return gather_lines<8>(from, to, axis);
      case 16:
        return gather_lines<16>(from, to, axis);
      case 32:
        return gather_lines<32>(from, to, axis);
      case 64:
        for (std::int64_t j = 0; j < axis.extent; ++j) {
          __builtin_prefetch(from + j * axis.from + (axis.from < 0 ? -fetch_ahead : fetch_ahead));
          put<true>(to + j * line_bytes, load_line(from + j * axis.from));
        }
        return;
      default:
        break;
    }
  }
  gather_staged(from, to, axis, run);
}

void runs_streamed(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner, std::int64_t run) {
  if (run >= 512 || (inner.to != run && run >= 4 * line_bytes)) {
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      for (std::int64_t j = 0; j < inner.extent; ++j) {
        const std::byte* source = from + i * outer.from + j * inner.from;
        const std::byte* next = j + 1 < inner.extent ? source + inner.from : from + (i + 1) * outer.from;
        stream_run(to + i * outer.to + j * inner.to, source, run, next);
      }
    }
  } else if (inner.to == run && inner.extent * run >= 4 * line_bytes) {
    for (std::int64_t i = 0; i < outer.extent; ++i) gather(from + i * outer.from, to + i * outer.to, inner, run);
  } else {
    runs(from, to, outer, inner, run);
  }
}

}  // namespace
}  // namespace meshwise::detail

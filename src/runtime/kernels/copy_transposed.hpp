// Transpositions: the source's neighbours become a stride apart. See copy_line.hpp.
#pragma once

#include "runtime/kernels/copy_streamed.hpp"

namespace meshwise::detail {
namespace {

// Elements of two vectors by turns, within each lane: first halves or second halves.
template <std::int64_t Bytes, bool High, std::size_t... I>
MESHWISE_INLINE Wide interleaved(const Wide& a, const Wide& b, std::index_sequence<I...>) {
  using V = Vector<Unsigned<Bytes>, 16 * lanes>;
  constexpr std::size_t lane = 16 / Bytes, all = lane * lanes;
  return reinterpret_cast<Wide>(__builtin_shufflevector(reinterpret_cast<V>(a), reinterpret_cast<V>(b),
                                                        (I / lane * lane + (High ? lane / 2 : 0) + I % lane / 2 + (I % 2 ? all : 0))...));
}

// 64 / Bytes rows of 16 source bytes become 16 / Bytes lines of the target. A lane holds 16 bytes of one row, the lanes of a vector rows that are
// `side` apart, so that interleaving within lanes, log2(side) times, transposes and leaves a line's parts in order.
template <std::int64_t Bytes>
MESHWISE_INLINE void transpose_block(const std::byte* from, std::int64_t row, Line* lines) {
  constexpr int side = static_cast<int>(16 / Bytes);
  if constexpr (side == 1) {
    lines[0] = line_of(load<Lane>(from), load<Lane>(from + row), load<Lane>(from + 2 * row), load<Lane>(from + 3 * row));
  } else {
    constexpr auto elements = std::make_index_sequence<static_cast<std::size_t>(16 * lanes / Bytes)>();
    Line v[side];
    for (int i = 0; i < side; ++i) {
      const std::byte* at = from + i * row;
      v[i] = line_of(load<Lane>(at), load<Lane>(at + side * row), load<Lane>(at + 2 * side * row), load<Lane>(at + 3 * side * row));
    }
    for (int p = 0; p < parts; ++p) {
      Wide now[side], then[side];
      for (int i = 0; i < side; ++i) now[i] = v[i].part[p];
      for (int done = 1; done < side; done *= 2) {
        for (int i = 0; i < side / 2; ++i) {
          then[2 * i] = interleaved<Bytes, false>(now[i], now[i + side / 2], elements);
          then[2 * i + 1] = interleaved<Bytes, true>(now[i], now[i + side / 2], elements);
        }
        for (int i = 0; i < side; ++i) now[i] = then[i];
      }
      for (int i = 0; i < side; ++i) lines[i].part[p] = now[i];
    }
  }
}

template <std::int64_t Bytes>
MESHWISE_INLINE void copy_column(const std::byte* from, std::byte* to, std::int64_t n, const CopyAxis& axis) {
  for (std::int64_t k = 0; k < n; ++k) __builtin_memcpy(to + k * axis.to, from + k * axis.from, Bytes);
}

// Blocks of whole target lines. The rows of a block are read along, side by side, which the hardware prefetches; the target's lines lie far apart.
constexpr std::int64_t fetch_along = 256;
template <std::int64_t Bytes, bool Streams>
void transpose_lines(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner) {
  constexpr std::int64_t width = line_bytes / Bytes, side = 16 / Bytes;
  std::int64_t j = 0;
  for (; j + width <= inner.extent; j += width) {
    std::int64_t i = 0;
    for (; i + side <= outer.extent; i += side) {
      if constexpr (width > 16) {  // more rows than the hardware follows
        if (i % width == 0) {
          for (std::int64_t k = 0; k < width; ++k) __builtin_prefetch(from + i * Bytes + fetch_along + (j + k) * inner.from);
        }
      }
      Line lines[side];
      transpose_block<Bytes>(from + i * Bytes + j * inner.from, inner.from, lines);
      for (std::int64_t k = 0; k < side; ++k) put<Streams>(to + (i + k) * outer.to + j * Bytes, lines[k]);
    }
    const CopyAxis rest{outer.extent - i, outer.from, outer.to}, line{width, inner.from, inner.to};
    fixed_runs<Bytes>(from + i * Bytes + j * inner.from, to + i * outer.to + j * Bytes, rest, line);
  }
  fixed_runs<Bytes>(from + j * inner.from, to + j * Bytes, outer, {inner.extent - j, inner.from, inner.to});
}

// Where the target's rows begin anywhere in a line: each has its lines over other rows of the source, and is gathered by itself.
template <std::int64_t Bytes>
void transpose_shifted(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner) {
  constexpr std::int64_t width = line_bytes / Bytes;
  for (std::int64_t j = 0; j < inner.extent; j += width) {
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      const std::byte* source = from + i * Bytes;
      std::byte* target = to + i * outer.to;
      const std::int64_t head = to_line_end(target) / Bytes, at = j + head;
      if (j == 0) copy_column<Bytes>(source, target, head < inner.extent ? head : inner.extent, inner);
      if (at + width <= inner.extent) {
        put<true>(target + at * Bytes, gathered_line<Bytes>(source + at * inner.from, inner.from));
      } else if (at < inner.extent) {
        copy_column<Bytes>(source + at * inner.from, target + at * Bytes, inner.extent - at, inner);
      }
    }
  }
}

template <std::int64_t Bytes, bool Streams>
void transpose(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner) {
  if (outer.from != Bytes) return fixed_runs<Bytes>(from, to, outer, inner);
  if constexpr (Streams) {
    if (to_line_end(to) % Bytes != 0 || outer.to % Bytes != 0) return transpose_lines<Bytes, false>(from, to, outer, inner);
    if (to_line_end(to) != 0 || outer.to % line_bytes != 0) return transpose_shifted<Bytes>(from, to, outer, inner);
  }
  transpose_lines<Bytes, Streams>(from, to, outer, inner);
}

// Items of other sizes: a few of the target's lines at a time, from rows whose lines stay near.
void transpose_items(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner, std::int64_t run,
                     CopyKernel kernel) {
  const std::int64_t rows = run < 512 ? 512 / run : 1;
  for (std::int64_t j = 0; j < inner.extent; j += rows) {
    const CopyAxis part{inner.extent - j < rows ? inner.extent - j : rows, inner.from, inner.to};
    kernel(from + j * inner.from, to + j * run, outer, part, run);
  }
}

template <bool Streams>
void transposed(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner, std::int64_t run) {
  switch (run) {
    case 1:
      return transpose<1, Streams>(from, to, outer, inner);
    case 2:
      return transpose<2, Streams>(from, to, outer, inner);
    case 4:
      return transpose<4, Streams>(from, to, outer, inner);
    case 8:
      return transpose<8, Streams>(from, to, outer, inner);
    case 16:
      return transpose<16, Streams>(from, to, outer, inner);
    default:
      return transpose_items(from, to, outer, inner, run, Streams ? runs_streamed : runs);
  }
}

}  // namespace
}  // namespace meshwise::detail

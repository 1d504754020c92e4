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

// The rows of a block are read along, side by side, which the hardware prefetches where they are few.
template <std::int64_t Bytes>
MESHWISE_INLINE void fetch_rows(const std::byte* from, std::int64_t i, std::int64_t j, std::int64_t row) {
  constexpr std::int64_t width = line_bytes / Bytes, along = 256;
  if constexpr (width > 16) {
    if (i % width == 0) {
      for (std::int64_t k = 0; k < width; ++k) __builtin_prefetch(from + i * Bytes + along + (j + k) * row);
    }
  }
}

// Blocks of whole target lines, which lie far apart.
template <std::int64_t Bytes>
void transpose_lines(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner) {
  constexpr std::int64_t width = line_bytes / Bytes, side = 16 / Bytes;
  std::int64_t j = 0;
  for (; j + width <= inner.extent; j += width) {
    std::int64_t i = 0;
    for (; i + side <= outer.extent; i += side) {
      fetch_rows<Bytes>(from, i, j, inner.from);
      Line lines[side];
      transpose_block<Bytes>(from + i * Bytes + j * inner.from, inner.from, lines);
      for (std::int64_t k = 0; k < side; ++k) put<false>(to + (i + k) * outer.to + j * Bytes, lines[k]);
    }
    const CopyAxis rest{outer.extent - i, outer.from, outer.to}, line{width, inner.from, inner.to};
    fixed_runs<Bytes>(from + i * Bytes + j * inner.from, to + i * outer.to + j * Bytes, rest, line);
  }
  fixed_runs<Bytes>(from + j * inner.from, to + j * Bytes, outer, {inner.extent - j, inner.from, inner.to});
}

// Past the caches, lines that lie a row apart would be a new page of the memory each. So a tile is turned round in the second-level cache: rows of the
// source are read along for a page, rows of the target written `stage_run` bytes at once. 5120 x 5120 float64 by two processes, of a streaming copy:
// 0.64 line by line; 0.80 so; with runs of 128 B 0.50, of 512 B 0.76, of 1 KiB 0.60. On 2 and 4 ranks through the public API 0.57 and 0.51 became 0.69 and
// 0.57; with tiles of 256 rows 0.68 and 0.55, of 128 rows 0.66 and 0.56.
constexpr std::int64_t stage_rows = 512, stage_run = 256, stage_pitch = stage_run + line_bytes;
template <std::int64_t Bytes>
void transpose_staged(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner) {
  constexpr std::int64_t width = line_bytes / Bytes, side = 16 / Bytes, columns = stage_run / Bytes;
  alignas(64) std::byte stage[stage_rows * stage_pitch];
  const std::int64_t whole_columns = inner.extent / width * width, whole_rows = outer.extent / side * side;
  for (std::int64_t i0 = 0; i0 < whole_rows; i0 += stage_rows) {
    const std::int64_t i1 = i0 + stage_rows < whole_rows ? i0 + stage_rows : whole_rows;
    for (std::int64_t j0 = 0; j0 < whole_columns; j0 += columns) {
      const std::int64_t j1 = j0 + columns < whole_columns ? j0 + columns : whole_columns;
      for (std::int64_t j = j0; j < j1; j += width) {
        std::byte* line = stage + (j - j0) * Bytes;
        for (std::int64_t i = i0; i < i1; i += side) {
          fetch_rows<Bytes>(from, i, j, inner.from);
          Line lines[side];
          transpose_block<Bytes>(from + i * Bytes + j * inner.from, inner.from, lines);
          for (std::int64_t k = 0; k < side; ++k, line += stage_pitch) put<false>(line, lines[k]);
        }
      }
      const std::byte* row = stage;
      for (std::int64_t i = i0; i < i1; ++i, row += stage_pitch)
        for (std::int64_t k = 0; k < (j1 - j0) * Bytes; k += line_bytes) put<true>(to + i * outer.to + j0 * Bytes + k, load_line(row + k));
    }
  }
  fixed_runs<Bytes>(from + whole_rows * Bytes, to + whole_rows * outer.to, {outer.extent - whole_rows, outer.from, outer.to},
                    {whole_columns, inner.from, inner.to});
  fixed_runs<Bytes>(from + whole_columns * inner.from, to + whole_columns * Bytes, outer, {inner.extent - whole_columns, inner.from, inner.to});
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
    if (to_line_end(to) == 0 && outer.to % line_bytes == 0) return transpose_staged<Bytes>(from, to, outer, inner);
    if (to_line_end(to) % Bytes == 0 && outer.to % Bytes == 0) return transpose_shifted<Bytes>(from, to, outer, inner);
  }
  transpose_lines<Bytes>(from, to, outer, inner);
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

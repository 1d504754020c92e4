#include <cstring>

#include "runtime/kernels/copy.hpp"

namespace meshwise::detail {
namespace {

template <std::size_t Bytes>
void copy_line(const std::byte* from, std::byte* to, const CopyAxis& axis) {
  for (std::int64_t i = 0; i < axis.extent; ++i) {
    std::memcpy(to, from, Bytes);  // a fixed size compiles to one load and one store
    from += axis.from;
    to += axis.to;
  }
}

template <std::size_t Bytes>
void copy_fixed(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner) {
  for (std::int64_t i = 0; i < outer.extent; ++i) copy_line<Bytes>(from + i * outer.from, to + i * outer.to, inner);
}

void runs(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner, std::int64_t run) {
  switch (run) {
    case 1:
      return copy_fixed<1>(from, to, outer, inner);
    case 2:
      return copy_fixed<2>(from, to, outer, inner);
    case 4:
      return copy_fixed<4>(from, to, outer, inner);
    case 8:
      return copy_fixed<8>(from, to, outer, inner);
    case 16:
      return copy_fixed<16>(from, to, outer, inner);
    default:
      for (std::int64_t i = 0; i < outer.extent; ++i)
        for (std::int64_t j = 0; j < inner.extent; ++j)
          std::memcpy(to + i * outer.to + j * inner.to, from + i * outer.from + j * inner.from, static_cast<std::size_t>(run));
  }
}

// A strip of the target is one cache line wide and written whole, line after line, from as many source rows at a time; its length keeps the pages of
// the target in the translation buffers until the next strip comes by.
void transposed(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner, std::int64_t run) {
  const std::int64_t width = run < 64 ? 64 / run : 1;
  for (std::int64_t j = 0; j < inner.extent; j += width) {
    const std::int64_t columns = inner.extent - j < width ? inner.extent - j : width;
    runs(from + j * inner.from, to + j * inner.to, outer, {columns, inner.from, inner.to}, run);
  }
}

}  // namespace

const CopyKernels portable_copy_kernels{runs, runs, transposed, transposed};

}  // namespace meshwise::detail

// Runs that keep their order, into the caches. See copy_line.hpp.
#pragma once

#include "runtime/kernels/copy.hpp"
#include "runtime/kernels/copy_line.hpp"

namespace meshwise::detail {
namespace {

template <std::int64_t Bytes>
void fixed_runs(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner) {
  for (std::int64_t i = 0; i < outer.extent; ++i) {
    const std::byte* source = from + i * outer.from;
    std::byte* target = to + i * outer.to;
    for (std::int64_t j = 0; j < inner.extent; ++j) {
      if constexpr (Bytes % line_bytes == 0) {
        for (std::int64_t k = 0; k < Bytes; k += line_bytes) put<false>(target + k, load_line(source + k));
      } else {
        __builtin_memcpy(target, source, Bytes);  // a fixed size compiles to loads and stores
      }
      source += inner.from;
      target += inner.to;
    }
  }
}

void runs(const std::byte* from, std::byte* to, const CopyAxis& outer, const CopyAxis& inner, std::int64_t run) {
  switch (run) {
    case 1:
      return fixed_runs<1>(from, to, outer, inner);
    case 2:
      return fixed_runs<2>(from, to, outer, inner);
    case 4:
      return fixed_runs<4>(from, to, outer, inner);
    case 8:
      return fixed_runs<8>(from, to, outer, inner);
    case 12:
      return fixed_runs<12>(from, to, outer, inner);
    case 16:
      return fixed_runs<16>(from, to, outer, inner);
    case 24:
      return fixed_runs<24>(from, to, outer, inner);
    case 32:
      return fixed_runs<32>(from, to, outer, inner);
    case 64:
      return fixed_runs<64>(from, to, outer, inner);
    case 40:
      return fixed_runs<40>(from, to, outer, inner);
    case 48:
      return fixed_runs<48>(from, to, outer, inner);
    case 128:
      return fixed_runs<128>(from, to, outer, inner);
    case 256:
      return fixed_runs<256>(from, to, outer, inner);
    default:
      for (std::int64_t i = 0; i < outer.extent; ++i)
        for (std::int64_t j = 0; j < inner.extent; ++j)
          copy_run(to + i * outer.to + j * inner.to, from + i * outer.from + j * inner.from, run);
  }
}

}  // namespace
}  // namespace meshwise::detail

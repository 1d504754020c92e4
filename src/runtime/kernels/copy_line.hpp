// Lines of 64 bytes in registers. Included by the kernels' sources alone: each defines MESHWISE_LANES, the 16-byte lanes of its vectors. Everything
// is in an unnamed namespace and calls no function of the standard library: such a function, compiled here for AVX-512 and not inlined, could be the
// copy that the linker keeps for all of the library.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>
#include <utility>

#define MESHWISE_INLINE [[gnu::always_inline]] inline

namespace meshwise::detail {
namespace {

constexpr int lanes = MESHWISE_LANES, parts = 4 / lanes;
constexpr std::int64_t line_bytes = 64;

template <class T, int Bytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(Bytes)));
};
template <class T, int Bytes>
using Vector = typename VectorOf<T, Bytes>::Type;
template <std::int64_t Bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using Type = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
  using Type = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using Type = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using Type = std::uint64_t;
};
template <std::int64_t Bytes>
using Unsigned = typename UnsignedOf<Bytes>::Type;

using Lane = Vector<std::uint8_t, 16>;
using Wide = Vector<std::uint8_t, 16 * lanes>;
struct Line {
  Wide part[parts];
};

template <class T>
MESHWISE_INLINE T load(const std::byte* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
MESHWISE_INLINE void store(std::byte* to, const T& value) {
  __builtin_memcpy(to, &value, sizeof value);
}

// Part by part: the compiler would move the whole struct through the stack, by halves that the loads behind must wait for.
MESHWISE_INLINE Line load_line(const std::byte* from) {
  Line line;
  for (int p = 0; p < parts; ++p) line.part[p] = load<Wide>(from + 16 * lanes * p);
  return line;
}

template <class V, std::size_t... I>
MESHWISE_INLINE auto concatenated(const V& low, const V& high, std::index_sequence<I...>) {
  return __builtin_shufflevector(low, high, I...);
}
template <class L>  // a template, so that only the branch taken is compiled
MESHWISE_INLINE Line line_of(const L& a, const L& b, const L& c, const L& d) {
  Line line;
  if constexpr (lanes == 1) {
    line.part[0] = a, line.part[1] = b, line.part[2] = c, line.part[3] = d;
  } else {
    const auto low = concatenated(a, b, std::make_index_sequence<32>()), high = concatenated(c, d, std::make_index_sequence<32>());
    if constexpr (lanes == 2) {
      line.part[0] = low, line.part[1] = high;
    } else {
      line.part[0] = concatenated(low, high, std::make_index_sequence<64>());
    }
  }
  return line;
}

MESHWISE_INLINE void stream(std::byte* to, const Wide& value) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<const __m512i&>(value));
#elif defined(__AVX__) && MESHWISE_LANES == 2
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<const __m256i&>(value));
#elif defined(__SSE2__) && MESHWISE_LANES == 1
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<const __m128i&>(value));
#else
  store(to, value);
#endif
}
// All parts of a line one after the other: the write-combining buffer then leaves as a whole.
template <bool Streams>
MESHWISE_INLINE void put(std::byte* to, const Line& line) {
  for (int p = 0; p < parts; ++p) {
    if constexpr (Streams) {
      stream(to + 16 * lanes * p, line.part[p]);
    } else {
      store(to + 16 * lanes * p, line.part[p]);
    }
  }
}
inline void fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

MESHWISE_INLINE std::int64_t to_line_end(const std::byte* at) {
  return static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(at) & (line_bytes - 1));
}

// Fewer than 64 bytes: two overlapping moves of the largest size that fits.
MESHWISE_INLINE void copy_small(std::byte* to, const std::byte* from, std::int64_t n) {
  const auto ends = [&]<class T>(T) {
    const T first = load<T>(from), last = load<T>(from + n - static_cast<std::int64_t>(sizeof(T)));
    store(to, first);
    store(to + n - static_cast<std::int64_t>(sizeof(T)), last);
  };
  if (n >= 32) {
    const Lane a = load<Lane>(from), b = load<Lane>(from + 16), c = load<Lane>(from + n - 32), d = load<Lane>(from + n - 16);
    store(to, a), store(to + 16, b), store(to + n - 32, c), store(to + n - 16, d);
    return;
  }
  if (n >= 16) return ends(Lane{});
  if (n >= 8) return ends(std::uint64_t{});
  if (n >= 4) return ends(std::uint32_t{});
  if (n >= 2) return ends(std::uint16_t{});
  if (n == 1) *to = *from;
}
MESHWISE_INLINE void copy_run(std::byte* to, const std::byte* from, std::int64_t n) {
  if (n < line_bytes) return copy_small(to, from, n);
  if (n >= 512) {
    __builtin_memcpy(to, from, static_cast<std::size_t>(n));
    return;
  }
  std::int64_t k = 0;
  for (; k + line_bytes <= n; k += line_bytes) put<false>(to + k, load_line(from + k));
  if (k < n) put<false>(to + n - line_bytes, load_line(from + n - line_bytes));
}

}  // namespace
}  // namespace meshwise::detail

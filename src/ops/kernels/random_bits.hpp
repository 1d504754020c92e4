#pragma once
// Threefry-2x32-20 in bulk (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011), as JAX lays its counters.

#include <cstddef>
#include <cstdint>

#include "meshwise/base/dtype.hpp"

namespace meshwise::detail {

/// A key, a counter, or what they make: two 32-bit words.
struct KeyWords {
  std::uint32_t a = 0, b = 0;
};

/// Local. The block of one counter.
KeyWords threefry(KeyWords key, KeyWords counter);
/// Local. The block of element i: its counter is i in 64 bits, the high word first.
KeyWords random_words(KeyWords key, std::int64_t i);
/// Local. a ^ b, or (a << 32) | b, of elements first, first + step, ...
void random_bits32(KeyWords key, std::int64_t first, std::int64_t step, std::int64_t count, std::uint32_t* out);
void random_bits64(KeyWords key, std::int64_t first, std::int64_t step, std::int64_t count, std::uint64_t* out);

/// Local. What turns bits into numbers. Bounds are in the dtype already.
struct UniformRule {
  Dtype dtype = Dtype::float32;
  double low = 0, high = 1;
};
/// Local. Uniform in [low, high) for a floating dtype.
void random_uniform(KeyWords key, const UniformRule& rule, std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out);
/// Local. Standard normal for a floating dtype.
void random_normal(KeyWords key, Dtype dtype, std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out);

/// Local. Integers low + [0, span), drawn from two streams; a span of 0 means all 2^n.
struct IntegerRule {
  KeyWords high_key{}, low_key{};
  std::uint64_t low = 0, span = 1;
};
void random_integers32(const IntegerRule& rule, std::int64_t first, std::int64_t step, std::int64_t count, std::uint32_t* out);
void random_integers64(const IntegerRule& rule, std::int64_t first, std::int64_t step, std::int64_t count, std::uint64_t* out);

}  // namespace meshwise::detail

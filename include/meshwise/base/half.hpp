#pragma once
// The two 16-bit floating-point types, inline because kernels convert them element by element.

#include <bit>
#include <cmath>
#include <cstdint>

namespace meshwise {

namespace detail {

/// Local. `value` as float, inexact results made odd: rounding that to 16 bits is rounding `value` once.
inline float narrowed_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) bits -= 1;
  return std::bit_cast<float>(bits | 1u);
}

/// Local. binary16 bits of `value`, to nearest, ties to even; subnormals, infinities and NaN kept.
inline std::uint16_t half_bits(float value) {
  auto u = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (u >> 16) & 0x8000u;
  u &= 0x7fffffffu;
  std::uint32_t magnitude = 0;
  if (u > 0x7f800000u) {
    magnitude = 0x7e00u | ((u >> 13) & 0x3ffu);
  } else if (u >= 0x47800000u) {
    magnitude = 0x7c00u;
  } else if (u < 0x38800000u) {
    // One unit of 0.5f is the least subnormal, so this addition rounds to it, ties to even.
    magnitude = std::bit_cast<std::uint32_t>(std::bit_cast<float>(u) + 0.5f) - 0x3f000000u;
  } else {
    magnitude = (u - 0x38000000u + 0xfffu + ((u >> 13) & 1u)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | magnitude);
}

inline float half_value(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = (bits & 0x7fffu) << 13;
  std::uint32_t u = magnitude + 0x38000000u;
  if (magnitude >= 0x0f800000u) u = magnitude + 0x70000000u;
  if (magnitude < 0x00800000u) u = std::bit_cast<std::uint32_t>(static_cast<float>(bits & 0x7fffu) * 0x1p-24f);
  return std::bit_cast<float>(sign | u);
}

inline std::uint16_t bfloat16_bits(float value) {
  // NaN adds nothing and stays quiet; written so that vectors of it choose among 32 bits, which are packed once.
  const auto u = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t quiet = value != value ? 0x400000u : 0u;
  const std::uint32_t rounding = value != value ? 0u : 0x7fffu + ((u >> 16) & 1u);
  return static_cast<std::uint16_t>(((u + rounding) | quiet) >> 16);
}

}  // namespace detail

/// Local. IEEE binary16: storage only, arithmetic is in float and rounds once.
struct float16_t {
  std::uint16_t bits = 0;
  float16_t() = default;
  explicit float16_t(float value) : bits(detail::half_bits(value)) {}
  /// Local. Rounds once, where float16_t(float(value)) would round twice.
  static float16_t from(double value) { return float16_t(detail::narrowed_to_odd(value)); }
  explicit operator float() const { return detail::half_value(bits); }
};

/// Local. The upper half of a binary32: storage only, arithmetic is in float and rounds once.
struct bfloat16_t {
  std::uint16_t bits = 0;
  bfloat16_t() = default;
  explicit bfloat16_t(float value) : bits(detail::bfloat16_bits(value)) {}
  /// Local. Rounds once, where bfloat16_t(float(value)) would round twice.
  static bfloat16_t from(double value) { return bfloat16_t(detail::narrowed_to_odd(value)); }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace meshwise

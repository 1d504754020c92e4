#pragma once
// Hashes that are the same on every rank and in every run: std::hash promises neither.

#include <concepts>
#include <cstdint>
#include <string_view>

namespace meshwise::detail {

/// Local. Folds `value` into `seed`; order matters (the finaliser of splitmix64).
constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + value + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

template <std::integral T>
  requires(!std::same_as<T, std::uint64_t>)
constexpr std::uint64_t mix(std::uint64_t seed, T value) {
  return mix(seed, static_cast<std::uint64_t>(value));
}

inline std::uint64_t mix(std::uint64_t seed, std::string_view text) {
  std::uint64_t h = mix(seed, std::uint64_t{text.size()});
  for (const char c : text) h = mix(h, std::uint64_t{static_cast<unsigned char>(c)});
  return h;
}

/// Local. A text's hash (FNV-1a), quick for the short names of operations.
constexpr std::uint64_t hash_text(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return h;
}

}  // namespace meshwise::detail

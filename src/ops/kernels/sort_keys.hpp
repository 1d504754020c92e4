#pragma once
// Values as unsigned integers of the same order: NaN behind everything, -0 beside +0. Sorting is done on these.

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "meshwise/base/dtype.hpp"
#include "ops/kernels/elementwise_entry.hpp"

namespace meshwise::detail {

template <std::size_t Bytes>
using UnsignedOf =
    std::conditional_t<Bytes == 1, std::uint8_t,
                       std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
inline constexpr bool is_float_v = std::floating_point<T> || is_half_v<T>;

template <class T>
bool is_nan(T x) {
  if constexpr (is_half_v<T>) {
    const auto f = static_cast<float>(x);
    return f != f;
  } else {
    return x != x;
  }
}

/// Local. The key of a real number.
template <class T>
UnsignedOf<sizeof(T)> sort_key(T x) {
  using Key = UnsignedOf<sizeof(T)>;
  constexpr Key top = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  if constexpr (std::same_as<T, bool>) {
    return x ? 1 : 0;
  } else if constexpr (std::unsigned_integral<T>) {
    return x;
  } else if constexpr (std::signed_integral<T>) {
    return static_cast<Key>(static_cast<Key>(x) ^ top);
  } else {
    if (is_nan(x)) return std::numeric_limits<Key>::max();
    const auto bits = std::bit_cast<Key>(x);
    if (bits == top) return top;  // -0
    return static_cast<Key>(bits & top ? ~bits : bits | top);
  }
}

/// Local. The number of a key; of NaN and zeros, one of them.
template <class T>
T value_of_key(UnsignedOf<sizeof(T)> key) {
  using Key = UnsignedOf<sizeof(T)>;
  constexpr Key top = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  if constexpr (std::same_as<T, bool>)
    return key != 0;
  else if constexpr (std::unsigned_integral<T>)
    return key;
  else if constexpr (std::signed_integral<T>)
    return static_cast<T>(key ^ top);
  else
    return std::bit_cast<T>(static_cast<Key>(key & top ? key ^ top : ~key));
}

/// Local. NaN behind everything; complex numbers by their real parts, then by their imaginary ones.
template <class T>
bool comes_before(T a, T b) {
  if constexpr (is_complex_v<T>) {
    // NumPy's order: a number whose real part is NaN behind those whose imaginary part is.
    const auto nan = [](T z) { return 2 * is_nan(z.real()) + is_nan(z.imag()); };
    const int na = nan(a), nb = nan(b);
    if (na != nb) return na < nb;
    if (!is_nan(a.real()) && a.real() != b.real()) return a.real() < b.real();
    return !is_nan(a.imag()) && a.imag() < b.imag();
  } else {
    return sort_key(a) < sort_key(b);
  }
}

}  // namespace meshwise::detail

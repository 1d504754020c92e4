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

__extension__ typedef unsigned __int128 Unsigned128;

template <std::size_t Bytes>
using UnsignedOf = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t, std::conditional_t<Bytes == 8, std::uint64_t, Unsigned128>>>>;

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

/// Local. The key of a number; complex ones by their real parts, then by their imaginary ones.
template <class T>
UnsignedOf<sizeof(T)> sort_key(T x) {
  using Key = UnsignedOf<sizeof(T)>;
  constexpr Key top = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  if constexpr (is_complex_v<T>) {
    // NumPy's order: a number whose real part is NaN behind those whose imaginary part is. No number's key is the one before NaN's.
    using Part = UnsignedOf<sizeof(T) / 2>;
    const auto key = [](Part high, Part low) { return static_cast<Key>(Key{high} << (4 * sizeof(T)) | low); };
    const auto real = sort_key(x.real());
    if (is_nan(x.imag()) && !is_nan(x.real())) return key(static_cast<Part>(~Part{1}), real);
    return key(real, sort_key(x.imag()));
  } else if constexpr (std::same_as<T, bool>) {
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

/// Local. The key in an order that may descend.
template <class T>
UnsignedOf<sizeof(T)> key_of(T x, bool descending) {
  using Key = UnsignedOf<sizeof(T)>;
  return static_cast<Key>(sort_key(x) ^ (descending ? static_cast<Key>(~Key{0}) : Key{0}));
}

/// Local. The real number of a key; of NaN and zeros, one of them.
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

/// Local. NaN behind everything.
template <class T>
bool comes_before(T a, T b) {
  return sort_key(a) < sort_key(b);
}

}  // namespace meshwise::detail

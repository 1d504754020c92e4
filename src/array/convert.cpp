#include "array/convert.hpp"

#include <cmath>
#include <complex>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

namespace meshwise::detail {
namespace {

template <class T>
inline constexpr bool is_half = std::same_as<T, float16_t> || std::same_as<T, bfloat16_t>;
template <class T>
inline constexpr bool is_complex_type = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

template <std::integral To, std::floating_point From>
To saturated(From value) {
  // The power of two above max(): max() itself may not be a value of From.
  constexpr From above = From{2} * static_cast<From>(std::numeric_limits<To>::max() / 2 + 1);
  constexpr auto low = static_cast<From>(std::numeric_limits<To>::min());
  if (value >= above) return std::numeric_limits<To>::max();
  if (value < low) return std::numeric_limits<To>::min();
  return std::isnan(value) ? To{0} : static_cast<To>(value);
}

/// `value` with everything below double's 53 bits folded into the lowest bit that double keeps: rounding on from there is rounding once.
template <std::integral From>
double nearly(From value) {
  if constexpr (sizeof(From) == 8) {
    constexpr auto low = From{0x7ff}, sticky = From{0x800};
    constexpr auto limit = From{1} << 53;
    bool wide = value > limit;
    if constexpr (std::signed_integral<From>) wide = wide || value < -limit;
    if (wide) value = static_cast<From>((value & ~low) | ((value & low) != 0 ? sticky : From{0}));
  }
  return static_cast<double>(value);
}

template <class To, class From>
To converted(From value) {
  if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (std::same_as<To, bool>) {
    if constexpr (is_half<From>)
      return static_cast<float>(value) != 0;
    else
      return value != From{};
  } else if constexpr (is_complex_type<From>) {
    if constexpr (is_complex_type<To>)
      return To(static_cast<typename To::value_type>(value.real()), static_cast<typename To::value_type>(value.imag()));
    else
      return converted<To>(value.real());
  } else if constexpr (is_complex_type<To>) {
    return To(converted<typename To::value_type>(value), 0);
  } else if constexpr (is_half<From>) {
    return converted<To>(static_cast<float>(value));
  } else if constexpr (is_half<To>) {
    if constexpr (std::floating_point<From>) {
      return To(static_cast<float>(value));
    } else {
      return To::from(nearly(value));
    }
  } else if constexpr (std::integral<To> && std::floating_point<From>) {
    return saturated<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

void convert_values(Dtype from, const std::byte* in, Dtype to, std::byte* out, std::int64_t count) {
  if (count <= 0) return;
  if (from == to) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * itemsize(from));
    return;
  }
  visit(from, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    visit(to, [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      const auto* source = reinterpret_cast<const From*>(in);
      auto* target = reinterpret_cast<To*>(out);
      for (std::int64_t i = 0; i < count; ++i) target[i] = converted<To>(source[i]);
    });
  });
}

}  // namespace meshwise::detail

#include "array/convert.hpp"

#include <cmath>
#include <complex>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/wide.hpp"

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

template <class From, class To>
MESHWISE_WIDE void convert_loop(const From* __restrict in, To* __restrict out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = converted<To>(in[i]);
}

#if defined(__x86_64__) && defined(__GNUC__)
// The same bits as in half.hpp but for a signalling NaN, which becomes a quiet one; a rest shorter than a vector goes the same way.
__attribute__((target("avx,f16c"))) void widen_halves(const std::byte* in, std::byte* out, std::int64_t count) {
  for (; count >= 8; count -= 8, in += 16, out += 32)
    _mm256_storeu_ps(reinterpret_cast<float*>(out), _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in))));
  for (; count > 0; --count, in += 2, out += 4) {
    std::uint16_t bits;
    std::memcpy(&bits, in, 2);
    const float value = _cvtsh_ss(bits);
    std::memcpy(out, &value, 4);
  }
}
__attribute__((target("avx,f16c"))) void narrow_to_halves(const std::byte* in, std::byte* out, std::int64_t count) {
  for (; count >= 8; count -= 8, in += 32, out += 16)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm256_cvtps_ph(_mm256_loadu_ps(reinterpret_cast<const float*>(in)), _MM_FROUND_TO_NEAREST_INT));
  for (; count > 0; --count, in += 4, out += 2) {
    float value;
    std::memcpy(&value, in, 4);
    const std::uint16_t bits = _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(out, &bits, 2);
  }
}
bool has_half_instructions() {
  static const bool has = __builtin_cpu_supports("avx2");  // every CPU that has it has these, which not every compiler can ask for
  return has;
}
#else
void widen_halves(const std::byte*, std::byte*, std::int64_t) {}
void narrow_to_halves(const std::byte*, std::byte*, std::int64_t) {}
constexpr bool has_half_instructions() { return false; }
#endif

}  // namespace

void convert_values(Dtype from, const std::byte* in, Dtype to, std::byte* out, std::int64_t count) {
  if (count <= 0) return;
  if (from == to) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * itemsize(from));
    return;
  }
  if (from == Dtype::float16 && to == Dtype::float32 && has_half_instructions()) return widen_halves(in, out, count);
  if (from == Dtype::float32 && to == Dtype::float16 && has_half_instructions()) return narrow_to_halves(in, out, count);
  visit(from, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    visit(to, [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      convert_loop(reinterpret_cast<const From*>(in), reinterpret_cast<To*>(out), count);
    });
  });
}

}  // namespace meshwise::detail

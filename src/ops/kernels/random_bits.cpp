#include "ops/kernels/random_bits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>

#include "meshwise/base/half.hpp"

namespace meshwise::detail {
namespace {

// Elements worked on at once: their words stay in the first-level cache.
constexpr std::int64_t piece = 512;

template <int A, int B, int C, int D>
inline void four_rounds(std::uint32_t& x0, std::uint32_t& x1) {
  x0 += x1;
  x1 = std::rotl(x1, A) ^ x0;
  x0 += x1;
  x1 = std::rotl(x1, B) ^ x0;
  x0 += x1;
  x1 = std::rotl(x1, C) ^ x0;
  x0 += x1;
  x1 = std::rotl(x1, D) ^ x0;
}

inline void block(const std::array<std::uint32_t, 3>& k, std::uint32_t& x0, std::uint32_t& x1) {
  x0 += k[0];
  x1 += k[1];
  four_rounds<13, 15, 26, 6>(x0, x1);
  x0 += k[1];
  x1 += k[2] + 1;
  four_rounds<17, 29, 16, 24>(x0, x1);
  x0 += k[2];
  x1 += k[0] + 2;
  four_rounds<13, 15, 26, 6>(x0, x1);
  x0 += k[0];
  x1 += k[1] + 3;
  four_rounds<17, 29, 16, 24>(x0, x1);
  x0 += k[1];
  x1 += k[2] + 4;
  four_rounds<13, 15, 26, 6>(x0, x1);
  x0 += k[2];
  x1 += k[0] + 5;
}

std::array<std::uint32_t, 3> schedule(KeyWords key) { return {key.a, key.b, key.a ^ key.b ^ 0x1BD11BDAu}; }

// Integers alone: every instruction set gives the same bits, so hosts of different kinds may choose differently.
#if defined(__x86_64__) && !defined(MESHWISE_NO_TARGET_CLONES)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void blocks(const std::array<std::uint32_t, 3>& k, std::uint32_t* a, std::uint32_t* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) block(k, a[i], b[i]);
}

/// Both words of up to `piece` elements. Counters first, in a loop of their own: the loop over rounds then knows only 32-bit lanes.
struct Blocks {
  std::array<std::uint32_t, piece> a, b;

  void draw(KeyWords key, std::int64_t first, std::int64_t step, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto counter = static_cast<std::uint64_t>(first + i * step);
      const auto at = static_cast<std::size_t>(i);
      a[at] = static_cast<std::uint32_t>(counter >> 32);
      b[at] = static_cast<std::uint32_t>(counter);
    }
    blocks(schedule(key), a.data(), b.data(), static_cast<std::size_t>(count));
  }
};

template <class T, class Store>
void in_pieces(std::int64_t first, std::int64_t step, std::int64_t count, T* out, Store store) {
  for (std::int64_t done = 0; done < count; done += piece) store(first + done * step, std::min(piece, count - done), out + done);
}

template <class T>
struct Bits;  // how many bits of a draw become a mantissa
template <>
struct Bits<float16_t> {
  static constexpr int mantissa = 10, drawn = 16;
};
template <>
struct Bits<bfloat16_t> {
  static constexpr int mantissa = 7, drawn = 8;
};
template <>
struct Bits<float> {
  static constexpr int mantissa = 23, drawn = 32;
};
template <>
struct Bits<double> {
  static constexpr int mantissa = 52, drawn = 64;
};

template <class T>
using Compute = std::conditional_t<std::same_as<T, double>, double, float>;

/// Draws in [0, 1): multiples of 2^-mantissa, exact in Compute<T>.
template <class T>
void fractions(KeyWords key, std::int64_t first, std::int64_t step, std::int64_t count, Compute<T>* out) {
  using B = Bits<T>;
  constexpr auto unit = Compute<T>{1} / static_cast<Compute<T>>(std::uint64_t{1} << B::mantissa);
  if constexpr (B::drawn == 64) {
    std::array<std::uint64_t, piece> bits;
    random_bits64(key, first, step, count, bits.data());
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = static_cast<double>(static_cast<std::int64_t>(bits[static_cast<std::size_t>(i)] >> 12)) * unit;
  } else {
    std::array<std::uint32_t, piece> bits;
    random_bits32(key, first, step, count, bits.data());
    constexpr std::uint32_t kept = B::drawn == 32 ? 0xffffffffu : (1u << B::drawn % 32) - 1;
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = static_cast<float>(static_cast<std::int32_t>((bits[static_cast<std::size_t>(i)] & kept) >> (B::drawn - B::mantissa))) * unit;
  }
}

/// f * span + low: fused in float and double, rounded twice in the half types, as JAX's compiled code does.
template <class T>
T scaled(Compute<T> f, T low, T span) {
  if constexpr (std::floating_point<T>) {
    return std::max(low, std::fma(f, span, low));
  } else {
    const auto product = T(f * static_cast<float>(span));
    const auto sum = T(static_cast<float>(product) + static_cast<float>(low));
    return static_cast<float>(sum) < static_cast<float>(low) ? low : sum;
  }
}

template <class T>
T from_double(double value) {
  if constexpr (std::floating_point<T>)
    return static_cast<T>(value);
  else
    return T::from(value);
}

template <class T>
T difference(T high, T low) {
  if constexpr (std::floating_point<T>)
    return high - low;
  else
    return T(static_cast<float>(high) - static_cast<float>(low));
}

template <class T>
void uniform(KeyWords key, const UniformRule& rule, std::int64_t first, std::int64_t step, std::int64_t count, T* out) {
  const auto low = from_double<T>(rule.low), high = from_double<T>(rule.high);
  const auto span = difference(high, low);
  const bool unit = rule.low == 0 && rule.high == 1;
  in_pieces(first, step, count, out, [&](std::int64_t at, std::int64_t n, T* to) {
    std::array<Compute<T>, piece> f;
    fractions<T>(key, at, step, n, f.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const auto x = f[static_cast<std::size_t>(i)];
      to[i] = unit ? from_double<T>(static_cast<double>(x)) : scaled<T>(x, low, span);
    }
  });
}

template <class C, std::size_t N>
C horner(const std::array<C, N>& p, C t) {
  C value = p[0];
  for (std::size_t i = 1; i < N; ++i) value = value * t + p[i];
  return value;
}

// Giles, "Approximating the erfinv function", GPU Computing Gems 2 (2011). x * x is rounded before log1p: near 1 the difference cancels.
float erf_inv(float x) {
  constexpr std::array<float, 9> central = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                                            -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
  constexpr std::array<float, 9> tail = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                                         -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
  const float w = -std::log1p(-(x * x));
  return x * (w < 5 ? horner(central, w - 2.5f) : horner(tail, std::sqrt(w) - 3));
}

double erf_inv(double x) {
  constexpr std::array<double, 23> central = {
      -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,  1.115787767802518096e-17,
      -1.333171662854620906e-16,  2.0972767875968561637e-17,  6.6376381343583238325e-15,  -4.0545662729752068639e-14,
      -8.1519341976054721522e-14, 2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
      1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
      -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352,   -0.00074070253416626697512,
      -0.0060336708714301490533,  0.24015818242558961693,     1.6536545626831027356};
  constexpr std::array<double, 19> middle = {
      2.2137376921775787049e-09,  9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
      1.5027403968909827627e-06,  -4.013867526981545969e-06, 2.9234449089955446044e-06,  1.2475304481671778723e-05,
      -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05,  -0.0003550375203628474796,
      0.00095328937973738049703,  -0.0016882755560235047313, 0.0024914420961078508066,   -0.0037512085075692412107,
      0.005370914553590063617,    1.0052589676941592334,     3.0838856104922207635};
  constexpr std::array<double, 17> tail = {-2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
                                           -3.7894654401267369937e-09, 7.6157012080783393804e-09,  -1.4960026627149240478e-08,
                                           2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,
                                           -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
                                           7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
                                           1.0103004648645343977,      4.8499064014085844221};
  const double w = -std::log1p(-(x * x));
  if (w < 6.25) return x * horner(central, w - 3.125);
  return x * (w < 16 ? horner(middle, std::sqrt(w) - 3.25) : horner(tail, std::sqrt(w) - 5));
}

template <class T>
void normal(KeyWords key, std::int64_t first, std::int64_t step, std::int64_t count, T* out) {
  // The least number above -1, so that u never is -1 and z never infinite.
  const auto low = from_double<T>(-1 + 1 / static_cast<double>(std::uint64_t{2} << Bits<T>::mantissa));
  const auto span = difference(from_double<T>(1), low);
  const auto root = from_double<T>(1.41421356237309504880);
  in_pieces(first, step, count, out, [&](std::int64_t at, std::int64_t n, T* to) {
    std::array<Compute<T>, piece> f;
    fractions<T>(key, at, step, n, f.data());
    for (std::int64_t i = 0; i < n; ++i) {
      const auto u = scaled<T>(f[static_cast<std::size_t>(i)], low, span);
      if constexpr (std::floating_point<T>)
        to[i] = root * erf_inv(u);
      else
        to[i] = T(static_cast<float>(root) * static_cast<float>(T(erf_inv(static_cast<float>(u)))));
    }
  });
}

template <class F>
void visit_floating(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::float16:
      return f(float16_t{});
    case Dtype::bfloat16:
      return f(bfloat16_t{});
    case Dtype::float32:
      return f(float{});
    default:
      return f(double{});
  }
}

// x % 0 is x, by XLA's rule: a span of 0 stands for 2^n.
template <class U>
U remainder(U x, U span) {
  return span == 0 ? x : x % span;
}

template <class U, class Draw>
void integers(const IntegerRule& rule, std::int64_t first, std::int64_t step, std::int64_t count, U* out, Draw draw) {
  const auto span = static_cast<U>(rule.span), low = static_cast<U>(rule.low);
  U m = remainder(static_cast<U>(U{1} << (sizeof(U) * 4)), span);
  m = remainder(static_cast<U>(m * m), span);
  in_pieces(first, step, count, out, [&](std::int64_t at, std::int64_t n, U* to) {
    std::array<U, piece> high;
    draw(rule.high_key, at, step, n, high.data());
    draw(rule.low_key, at, step, n, to);
    for (std::int64_t i = 0; i < n; ++i)
      to[i] = static_cast<U>(
          low + remainder(static_cast<U>(remainder(high[static_cast<std::size_t>(i)], span) * m + remainder(to[i], span)), span));
  });
}

}  // namespace

KeyWords threefry(KeyWords key, KeyWords counter) {
  block(schedule(key), counter.a, counter.b);
  return counter;
}

KeyWords random_words(KeyWords key, std::int64_t i) {
  const auto counter = static_cast<std::uint64_t>(i);
  return threefry(key, {static_cast<std::uint32_t>(counter >> 32), static_cast<std::uint32_t>(counter)});
}

void random_bits32(KeyWords key, std::int64_t first, std::int64_t step, std::int64_t count, std::uint32_t* out) {
  in_pieces(first, step, count, out, [&](std::int64_t at, std::int64_t n, std::uint32_t* to) {
    Blocks words;
    words.draw(key, at, step, n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) to[i] = words.a[i] ^ words.b[i];
  });
}

void random_bits64(KeyWords key, std::int64_t first, std::int64_t step, std::int64_t count, std::uint64_t* out) {
  in_pieces(first, step, count, out, [&](std::int64_t at, std::int64_t n, std::uint64_t* to) {
    Blocks words;
    words.draw(key, at, step, n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) to[i] = std::uint64_t{words.a[i]} << 32 | words.b[i];
  });
}

void random_uniform(KeyWords key, const UniformRule& rule, std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) {
  visit_floating(rule.dtype, [&](auto zero) { uniform(key, rule, first, step, count, reinterpret_cast<decltype(zero)*>(out)); });
}

void random_normal(KeyWords key, Dtype dtype, std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) {
  visit_floating(dtype, [&](auto zero) { normal(key, first, step, count, reinterpret_cast<decltype(zero)*>(out)); });
}

void random_integers32(const IntegerRule& rule, std::int64_t first, std::int64_t step, std::int64_t count, std::uint32_t* out) {
  integers(rule, first, step, count, out, random_bits32);
}

void random_integers64(const IntegerRule& rule, std::int64_t first, std::int64_t step, std::int64_t count, std::uint64_t* out) {
  integers(rule, first, step, count, out, random_bits64);
}

}  // namespace meshwise::detail

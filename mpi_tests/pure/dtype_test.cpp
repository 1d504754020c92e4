#include "meshwise/base/dtype.hpp"
#include "meshwise/base/dtype_info.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "meshwise/base/error.hpp"

namespace meshwise {
namespace {

constexpr Dtype all[] = {bool_,  int8,    int16,    int32,   int64,   uint8,     uint16,    uint32,
                         uint64, float16, bfloat16, float32, float64, complex64, complex128};

// asarray("abc") would be true: a pointer is no literal, and neither is a class that happens to convert to bool.
static_assert(std::is_convertible_v<bool, Scalar> && std::is_convertible_v<char, Scalar>);
static_assert(!std::is_convertible_v<const char*, Scalar> && !std::is_constructible_v<Scalar, const char*>);
static_assert(!std::is_convertible_v<int*, Scalar> && !std::is_convertible_v<std::nullptr_t, Scalar>);

// A 16-bit float by its definition: sign, exponent of `e` bits, fraction of `f` bits.
double naive_value(std::uint32_t bits, int e, int f) {
  const double sign = bits >> 15 ? -1.0 : 1.0;
  const auto exponent = static_cast<int>((bits >> f) & ((1u << e) - 1u));
  const auto fraction = static_cast<double>(bits & ((1u << f) - 1u));
  const int bias = (1 << (e - 1)) - 1;
  if (exponent == (1 << e) - 1)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - f);
  return sign * std::ldexp(1.0 + std::ldexp(fraction, -f), exponent - bias);
}

template <class Half>
void check_half(int e, int f) {
  const auto infinity_bits = static_cast<std::uint32_t>((1 << e) - 1) << f;
  const auto value = [&](std::uint32_t bits) {
    Half h;
    h.bits = static_cast<std::uint16_t>(bits);
    return static_cast<double>(static_cast<float>(h));
  };
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const double want = naive_value(bits, e, f);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(value(bits))) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(Half(static_cast<float>(value(bits)))))) << bits;
      continue;
    }
    ASSERT_EQ(value(bits), want) << bits;
    ASSERT_EQ(std::signbit(value(bits)), bits >> 15 != 0) << bits;
    ASSERT_EQ(Half(static_cast<float>(want)).bits, bits);
    ASSERT_EQ(Half::from(want).bits, bits);
  }
  // Between two neighbours: the midpoint goes to the even one, anything beside it to the nearer.
  for (std::uint32_t bits = 0; bits < infinity_bits; ++bits) {
    const double low = naive_value(bits, e, f);
    const double high = bits + 1 == infinity_bits ? 2 * low - naive_value(bits - 1, e, f) : naive_value(bits + 1, e, f);
    const auto middle = static_cast<float>(low / 2 + high / 2);
    const auto even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(Half(middle).bits, even) << bits;
    ASSERT_EQ(Half(-middle).bits, even | 0x8000u) << bits;
    ASSERT_EQ(Half(std::nextafter(middle, 0.0f)).bits, bits);
    ASSERT_EQ(Half(std::nextafter(middle, std::numeric_limits<float>::infinity())).bits, bits + 1);
    // These doubles are the midpoint once they are floats: rounded twice they would go to the even one.
    ASSERT_EQ(Half::from(std::nextafter(static_cast<double>(middle), 0.0)).bits, bits) << bits;
    ASSERT_EQ(Half::from(std::nextafter(static_cast<double>(middle), 1e300)).bits, bits + 1) << bits;
  }
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Half::from(1e300).bits, infinity_bits);
  EXPECT_EQ(Half::from(-infinity).bits, infinity_bits | 0x8000u);
  EXPECT_EQ(Half::from(1e-300).bits, 0u);
  EXPECT_EQ(Half::from(-1e-300).bits, 0x8000u);
  EXPECT_TRUE(std::isnan(static_cast<float>(Half::from(std::nan("")))));
}

TEST(Dtype, Float16RoundsToNearestEven) { check_half<float16_t>(5, 10); }
TEST(Dtype, Bfloat16RoundsToNearestEven) { check_half<bfloat16_t>(8, 7); }

TEST(Dtype, NamesAndSizes) {
  const std::size_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
  for (std::size_t i = 0; i < std::size(all); ++i) {
    EXPECT_EQ(itemsize(all[i]), sizes[i]);
    EXPECT_EQ(parse_dtype(name(all[i])), all[i]);
    visit(all[i], [&](auto tag) { EXPECT_EQ(dtype_of<typename decltype(tag)::type>(), all[i]); });
  }
  EXPECT_EQ(name(bfloat16), "bfloat16");
  EXPECT_EQ(dtype_of<long long>(), int64);
  EXPECT_EQ(dtype_of<unsigned long>(), uint64);
  try {
    parse_dtype("float33");
    ADD_FAILURE();
  } catch (const DtypeError& error) {
    EXPECT_NE(std::string(error.what()).find("'float33'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("complex128"), std::string::npos);
  }
}

TEST(Dtype, PromotionIsASymmetricIdempotentLattice) {
  for (const auto a : all) {
    EXPECT_EQ(promote_types(a, a), a);
    EXPECT_EQ(promote_types(bool_, a), a);
    for (const auto b : all) EXPECT_EQ(promote_types(a, b), promote_types(b, a));
  }
  EXPECT_EQ(promote_types(int32, float32), float32);
  EXPECT_EQ(promote_types(uint64, int64), float32);
  EXPECT_EQ(promote_types(float16, bfloat16), float32);
}

template <class T>
T stored(Scalar s) {
  T out{};
  s.store(dtype_of<T>(), &out);
  return out;
}

TEST(Scalar, TakesTheArraysDtypeWithinItsKind) {
  EXPECT_EQ(Scalar(2.5).beside(int64), float32);
  EXPECT_EQ(Scalar(2.5f).beside(float64), float64);
  EXPECT_EQ(Scalar(2).beside(bfloat16), bfloat16);
  EXPECT_EQ(Scalar(2).beside(uint8), uint8);
  EXPECT_EQ(Scalar(true).beside(float16), float16);
  EXPECT_EQ(Scalar(std::complex<double>(0, 1)).beside(float64), complex128);
  EXPECT_EQ(Scalar(std::int64_t{1} << 40).beside(bool_), int64);
}

TEST(Scalar, DefaultDtypes) {
  EXPECT_EQ(Scalar(true).default_dtype(), bool_);
  EXPECT_EQ(Scalar(2.5).default_dtype(), float32);
  EXPECT_EQ(Scalar(7).default_dtype(), int32);
  EXPECT_EQ(Scalar(7ull).default_dtype(), int32);
  EXPECT_EQ(Scalar(std::int64_t{1} << 31).default_dtype(), int64);
  EXPECT_EQ(Scalar(std::numeric_limits<std::uint64_t>::max()).default_dtype(), uint64);
  EXPECT_EQ(Scalar(std::complex<float>(1, 2)).default_dtype(), complex64);
}

TEST(Scalar, FloatsSaturateInIntegersAndNanIsZero) {
  EXPECT_EQ(stored<std::int8_t>(2.9), 2);
  EXPECT_EQ(stored<std::int8_t>(-2.9), -2);
  EXPECT_EQ(stored<std::int8_t>(1e9), 127);
  EXPECT_EQ(stored<std::int8_t>(-1e9), -128);
  EXPECT_EQ(stored<std::uint8_t>(-1.0), 0);
  EXPECT_EQ(stored<std::uint8_t>(255.9), 255);
  EXPECT_EQ(stored<std::int64_t>(9.3e18), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(stored<std::uint64_t>(std::numeric_limits<double>::infinity()), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(stored<std::int32_t>(std::nan("")), 0);
  EXPECT_TRUE(stored<bool>(std::nan("")));
  EXPECT_TRUE(stored<bool>(0.1));
  EXPECT_FALSE(stored<bool>(-0.0));
  EXPECT_TRUE(stored<bool>(std::complex<double>(0, 1)));
}

TEST(Scalar, IntegersConvertExactlyOrRoundOnce) {
  EXPECT_EQ(stored<std::int64_t>(std::numeric_limits<std::int64_t>::max()), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(stored<std::uint64_t>(std::numeric_limits<std::uint64_t>::max()), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(stored<double>(std::numeric_limits<std::uint64_t>::max()), 18446744073709551616.0);
  // 2^53 + 2^29 + 1 as a double loses the 1, and is then half way between two floats.
  EXPECT_EQ(stored<float>((std::int64_t{1} << 53) + (std::int64_t{1} << 29) + 1), 0x1.000002p53f);
  EXPECT_EQ(stored<std::complex<float>>(-3), std::complex<float>(-3, 0));
  EXPECT_EQ(stored<std::complex<double>>(std::complex<double>(0.1, -0.2)), std::complex<double>(0.1, -0.2));
  EXPECT_EQ(stored<float16_t>(0.1).bits, 0x2e66);
  EXPECT_EQ(stored<bfloat16_t>(-3).bits, 0xc040);
}

TEST(Scalar, AnIntegerThatDoesNotFitIsRefused) {
  EXPECT_EQ(stored<std::int8_t>(-128), -128);
  EXPECT_THROW(stored<std::int8_t>(128), DtypeError);
  EXPECT_THROW(stored<std::uint8_t>(-1), DtypeError);
  EXPECT_THROW(stored<std::int64_t>(std::numeric_limits<std::uint64_t>::max()), DtypeError);
  try {
    stored<std::int8_t>(300);
    ADD_FAILURE();
  } catch (const DtypeError& error) {
    const std::string text = error.what();
    for (const auto* part : {"300", "int8", "-128 to 127", "astype"}) EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Dtype, Limits) {
  for (const auto dtype : {int8, int16, int32, int64, uint8, uint16, uint32, uint64}) {
    visit(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::integral<T>) {
        EXPECT_EQ(iinfo(dtype).bits, 8 * static_cast<int>(sizeof(T)));
        EXPECT_EQ(iinfo(dtype).max, static_cast<std::uint64_t>(std::numeric_limits<T>::max())) << name(dtype);
        EXPECT_EQ(iinfo(dtype).min, static_cast<std::int64_t>(std::numeric_limits<T>::min())) << name(dtype);
      }
    });
  }
  for (const auto dtype : {float16, bfloat16}) {
    const auto info = finfo(dtype);
    const auto round = [&](double v) { return dtype == float16 ? static_cast<float>(float16_t(static_cast<float>(v))) : static_cast<float>(bfloat16_t(static_cast<float>(v))); };
    EXPECT_EQ(round(info.max), info.max);
    EXPECT_TRUE(std::isinf(round(info.max * (1 + info.eps))));
    EXPECT_EQ(round(1 + info.eps), 1 + info.eps);
    EXPECT_EQ(round(1 + info.eps / 4), 1);
  }
  EXPECT_EQ(finfo(complex128).eps, 0x1p-52);
  EXPECT_EQ(finfo(complex64).dtype, float32);
  EXPECT_THROW(finfo(int32), DtypeError);
  EXPECT_THROW(iinfo(bool_), DtypeError);
  EXPECT_TRUE(can_cast(int32, float32) && can_cast(uint8, int16) && !can_cast(float64, float32) && !can_cast(int8, uint8));
  EXPECT_TRUE(isdtype(uint8, "integral") && isdtype(uint8, "numeric") && !isdtype(bool_, "numeric") && isdtype(complex64, "complex floating"));
  EXPECT_THROW(isdtype(uint8, "float"), DtypeError);
}

}  // namespace
}  // namespace meshwise

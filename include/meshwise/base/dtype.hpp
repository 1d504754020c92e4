#pragma once
// The closed set of element types, their C++ types, and promotion (SEMANTICS 3.3).

#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "meshwise/base/half.hpp"

namespace meshwise {

/// Local. An element type, known at run time.
enum class Dtype : std::uint8_t {
  bool_,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128
};

inline constexpr Dtype bool_ = Dtype::bool_, int8 = Dtype::int8, int16 = Dtype::int16, int32 = Dtype::int32, int64 = Dtype::int64,
                       uint8 = Dtype::uint8, uint16 = Dtype::uint16, uint32 = Dtype::uint32, uint64 = Dtype::uint64,
                       float16 = Dtype::float16, bfloat16 = Dtype::bfloat16, float32 = Dtype::float32, float64 = Dtype::float64,
                       complex64 = Dtype::complex64, complex128 = Dtype::complex128;

enum class DtypeKind : std::uint8_t { boolean, signed_integer, unsigned_integer, floating, complex };

/// Local. Bytes of one element.
std::size_t itemsize(Dtype dtype);
/// Local. numpy's name: `float32`, `bool`, `bfloat16`.
std::string_view name(Dtype dtype);
/// Local. The dtype of that name. Throws: DtypeError listing the names.
Dtype parse_dtype(std::string_view name);
DtypeKind kind(Dtype dtype);
inline bool is_integer(Dtype d) { return kind(d) == DtypeKind::signed_integer || kind(d) == DtypeKind::unsigned_integer; }
inline bool is_floating(Dtype d) { return kind(d) == DtypeKind::floating; }
inline bool is_complex(Dtype d) { return kind(d) == DtypeKind::complex; }

/// Local. The least dtype both convert to, by JAX's lattice.
Dtype promote_types(Dtype a, Dtype b);

/// Local. A C++ literal as an operand: weak, it takes an array's dtype within its kind.
class Scalar {
 public:
  enum class Kind : std::uint8_t { boolean, integer, floating, complex };
  template <std::same_as<bool> T>  // bool itself: a pointer, as in asarray("abc"), is no truth value
  Scalar(T v) : kind_(Kind::boolean), integer_(v), real_(v) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Scalar(T v)
      : kind_(Kind::integer), is_unsigned_(std::is_unsigned_v<T>), integer_(static_cast<std::int64_t>(v)), real_(static_cast<double>(v)) {}
  template <std::floating_point T>
  Scalar(T v) : kind_(Kind::floating), real_(static_cast<double>(v)) {}
  template <std::floating_point T>
  Scalar(std::complex<T> v) : kind_(Kind::complex), real_(static_cast<double>(v.real())), imag_(static_cast<double>(v.imag())) {}

  Kind kind() const { return kind_; }
  /// Local. bool, int32, float32 or complex64 (int64 or uint64 for an integer that int32 cannot hold).
  Dtype default_dtype() const;
  /// Local. The dtype this literal takes beside an array of dtype `other`.
  Dtype beside(Dtype other) const;
  std::int64_t integer() const { return integer_; }
  bool is_unsigned() const { return is_unsigned_; }
  double real() const { return real_; }
  double imag() const { return imag_; }
  /// Local. Writes the value, converted to `dtype`, at `out` (itemsize(dtype) bytes). Floats saturate in integers, NaN is 0.
  /// Throws: DtypeError for an integer literal that an integer `dtype` cannot hold.
  void store(Dtype dtype, void* out) const;

 private:
  Kind kind_;
  bool is_unsigned_ = false;
  std::int64_t integer_ = 0;
  double real_ = 0, imag_ = 0;
};

template <class T>
struct type_tag {
  using type = T;
};

/// Local. The dtype of a C++ element type.
template <class T>
constexpr Dtype dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::same_as<U, bool>)
    return Dtype::bool_;
  else if constexpr (std::same_as<U, float16_t>)
    return Dtype::float16;
  else if constexpr (std::same_as<U, bfloat16_t>)
    return Dtype::bfloat16;
  else if constexpr (std::same_as<U, float>)
    return Dtype::float32;
  else if constexpr (std::same_as<U, double>)
    return Dtype::float64;
  else if constexpr (std::same_as<U, std::complex<float>>)
    return Dtype::complex64;
  else if constexpr (std::same_as<U, std::complex<double>>)
    return Dtype::complex128;
  else {
    static_assert(std::integral<U> && sizeof(U) <= 8, "not an element type of meshwise");
    constexpr Dtype s[] = {Dtype::int8, Dtype::int16, Dtype::int32, Dtype::int64};
    constexpr Dtype u[] = {Dtype::uint8, Dtype::uint16, Dtype::uint32, Dtype::uint64};
    constexpr auto i = std::bit_width(sizeof(U)) - 1;
    return std::is_signed_v<U> ? s[i] : u[i];
  }
}

/// Local. Calls f(type_tag<T>{}) with the C++ type of `dtype` and hands back what it returns.
template <class F>
decltype(auto) visit(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::bool_:
      return f(type_tag<bool>{});
    case Dtype::int8:
      return f(type_tag<std::int8_t>{});
    case Dtype::int16:
      return f(type_tag<std::int16_t>{});
    case Dtype::int32:
      return f(type_tag<std::int32_t>{});
    case Dtype::int64:
      return f(type_tag<std::int64_t>{});
    case Dtype::uint8:
      return f(type_tag<std::uint8_t>{});
    case Dtype::uint16:
      return f(type_tag<std::uint16_t>{});
    case Dtype::uint32:
      return f(type_tag<std::uint32_t>{});
    case Dtype::uint64:
      return f(type_tag<std::uint64_t>{});
    case Dtype::float16:
      return f(type_tag<float16_t>{});
    case Dtype::bfloat16:
      return f(type_tag<bfloat16_t>{});
    case Dtype::float32:
      return f(type_tag<float>{});
    case Dtype::float64:
      return f(type_tag<double>{});
    case Dtype::complex64:
      return f(type_tag<std::complex<float>>{});
    default:
      return f(type_tag<std::complex<double>>{});
  }
}

}  // namespace meshwise

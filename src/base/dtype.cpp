#include "meshwise/base/dtype.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "meshwise/base/error.hpp"

namespace meshwise {
namespace {

constexpr std::array<std::string_view, 15> names = {"bool",     "int8",    "int16",   "int32",     "int64",
                                                    "uint8",    "uint16",  "uint32",  "uint64",    "float16",
                                                    "bfloat16", "float32", "float64", "complex64", "complex128"};

Dtype signed_of(std::size_t bytes) { return bytes == 1 ? int8 : bytes == 2 ? int16 : bytes == 4 ? int32 : int64; }

Dtype promote_integers(Dtype a, Dtype b) {
  if (kind(a) == kind(b)) return itemsize(a) >= itemsize(b) ? a : b;
  const Dtype s = kind(a) == DtypeKind::signed_integer ? a : b, u = s == a ? b : a;
  if (itemsize(s) > itemsize(u)) return s;
  // No integer holds both: JAX goes to its default float.
  return u == uint64 ? float32 : signed_of(2 * itemsize(u));
}

Dtype promote_floats(Dtype a, Dtype b) {
  if (itemsize(a) == itemsize(b)) return a == b ? a : float32;
  return itemsize(a) > itemsize(b) ? a : b;
}

int rank_of(DtypeKind k) { return k == DtypeKind::boolean ? 0 : k == DtypeKind::floating ? 2 : k == DtypeKind::complex ? 3 : 1; }

template <class T>
T saturate(double value) {
  if (std::isnan(value)) return 0;
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
  // max() itself may round up as a double, so the bound is the power of two above it.
  constexpr double above = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
  if (value < low) return std::numeric_limits<T>::min();
  if (value >= above) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <class T>
T real_part(const Scalar& s) {
  if (s.kind() == Scalar::Kind::integer)
    return s.is_unsigned() ? static_cast<T>(static_cast<std::uint64_t>(s.integer())) : static_cast<T>(s.integer());
  return static_cast<T>(s.real());
}

std::string literal_text(const Scalar& s) {
  return s.is_unsigned() ? fmt::format("{}", static_cast<std::uint64_t>(s.integer())) : fmt::format("{}", s.integer());
}

template <class T>
T integer_part(const Scalar& s) {
  if (s.kind() != Scalar::Kind::integer && s.kind() != Scalar::Kind::boolean) return saturate<T>(s.real());
  const bool fits = s.is_unsigned() ? std::in_range<T>(static_cast<std::uint64_t>(s.integer())) : std::in_range<T>(s.integer());
  if (!fits)
    throw DtypeError(fmt::format(
        "the literal {} does not fit {}, which holds {} to {}; convert the array to a wider dtype first: astype({})", literal_text(s),
        name(dtype_of<T>()), +std::numeric_limits<T>::min(), +std::numeric_limits<T>::max(), name(s.default_dtype())));
  return static_cast<T>(s.integer());
}

template <class T>
T converted(const Scalar& s) {
  if constexpr (std::same_as<T, bool>)
    return s.kind() == Scalar::Kind::integer ? s.integer() != 0 : s.real() != 0 || s.imag() != 0;
  else if constexpr (std::integral<T>)
    return integer_part<T>(s);
  else if constexpr (std::floating_point<T>)
    return real_part<T>(s);
  else if constexpr (std::same_as<T, float16_t> || std::same_as<T, bfloat16_t>)
    return T::from(real_part<double>(s));
  else
    return T(real_part<typename T::value_type>(s), static_cast<typename T::value_type>(s.imag()));
}

}  // namespace

std::size_t itemsize(Dtype dtype) {
  return visit(dtype, [](auto tag) { return sizeof(typename decltype(tag)::type); });
}

std::string_view name(Dtype dtype) { return names[static_cast<std::size_t>(dtype)]; }

Dtype parse_dtype(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<Dtype>(i);
  throw DtypeError(fmt::format("no dtype is called '{}'; the dtypes are {}", text, fmt::join(names, ", ")));
}

DtypeKind kind(Dtype dtype) {
  if (dtype == bool_) return DtypeKind::boolean;
  if (dtype <= int64) return DtypeKind::signed_integer;
  if (dtype <= uint64) return DtypeKind::unsigned_integer;
  return dtype <= float64 ? DtypeKind::floating : DtypeKind::complex;
}

Dtype promote_types(Dtype a, Dtype b) {
  if (a == b) return a;
  if (rank_of(kind(a)) > rank_of(kind(b))) std::swap(a, b);
  switch (rank_of(kind(b))) {
    case 1:
      return a == bool_ ? b : promote_integers(a, b);
    case 2:
      return is_floating(a) ? promote_floats(a, b) : b;
    default:
      return a == float64 || a == complex128 ? complex128 : b;
  }
}

Dtype Scalar::default_dtype() const {
  switch (kind_) {
    case Kind::boolean:
      return bool_;
    case Kind::floating:
      return float32;
    case Kind::complex:
      return complex64;
    default:
      break;
  }
  if (is_unsigned_ && integer_ < 0) return uint64;
  return std::in_range<std::int32_t>(integer_) ? int32 : int64;
}

Dtype Scalar::beside(Dtype other) const {
  if (static_cast<int>(kind_) <= rank_of(meshwise::kind(other))) return other;
  return kind_ == Kind::complex && other == float64 ? complex128 : default_dtype();
}

void Scalar::store(Dtype dtype, void* out) const {
  visit(dtype, [&](auto tag) {
    const auto value = converted<typename decltype(tag)::type>(*this);
    std::memcpy(out, &value, sizeof value);
  });
}

}  // namespace meshwise

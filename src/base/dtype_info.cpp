#include "meshwise/base/dtype_info.hpp"

#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "meshwise/base/error.hpp"

namespace meshwise {

FloatInfo finfo(Dtype dtype) {
  const auto of = [&]<class T>(T) {
    using L = std::numeric_limits<T>;
    return FloatInfo{8 * static_cast<int>(sizeof(T)),  static_cast<double>(L::epsilon()), static_cast<double>(L::max()),
                     static_cast<double>(L::lowest()), static_cast<double>(L::min()),     sizeof(T) == 4 ? float32 : float64};
  };
  switch (dtype) {
    case Dtype::float16:
      return {16, 0x1p-10, 65504.0, -65504.0, 0x1p-14, dtype};
    case Dtype::bfloat16:
      return {16, 0x1p-7, 0x1.fep127, -0x1.fep127, 0x1p-126, dtype};
    case Dtype::float32:
    case Dtype::complex64:
      return of(float{});
    case Dtype::float64:
    case Dtype::complex128:
      return of(double{});
    default:
      throw DtypeError(fmt::format("finfo: {} is no floating dtype; iinfo tells of integers", name(dtype)));
  }
}

IntegerInfo iinfo(Dtype dtype) {
  if (!is_integer(dtype)) throw DtypeError(fmt::format("iinfo: {} is no integer dtype; finfo tells of floating ones", name(dtype)));
  const auto bits = 8 * static_cast<int>(itemsize(dtype));
  if (kind(dtype) == DtypeKind::unsigned_integer) return {bits, std::numeric_limits<std::uint64_t>::max() >> (64 - bits), 0, dtype};
  const auto max = std::numeric_limits<std::uint64_t>::max() >> (65 - bits);
  return {bits, max, -static_cast<std::int64_t>(max) - 1, dtype};
}

bool isdtype(Dtype dtype, std::string_view kind_name) {
  const auto of = kind(dtype);
  if (kind_name == "bool") return of == DtypeKind::boolean;
  if (kind_name == "signed integer") return of == DtypeKind::signed_integer;
  if (kind_name == "unsigned integer") return of == DtypeKind::unsigned_integer;
  if (kind_name == "integral") return is_integer(dtype);
  if (kind_name == "real floating") return of == DtypeKind::floating;
  if (kind_name == "complex floating") return of == DtypeKind::complex;
  if (kind_name == "numeric") return of != DtypeKind::boolean;
  throw DtypeError(
      fmt::format("isdtype: there is no kind \"{}\"; there are bool, signed integer, unsigned integer, integral, real floating, complex "
                  "floating and numeric",
                  kind_name));
}

}  // namespace meshwise

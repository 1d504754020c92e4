#include "io/hdf5_types.hpp"

#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace meshwise::detail {

namespace {

std::string member_name(hid_t type, unsigned member) {
  char* name = H5Tget_member_name(type, member);
  const std::string text = name ? name : "";
  H5free_memory(name);
  return text;
}

Handle member_type(hid_t type, unsigned member) { return {H5Tget_member_type(type, member), H5Tclose}; }

// A 16-bit floating-point format is known by where its fields are.
struct Fields {
  std::size_t sign, exponent_at, exponent, mantissa_at, mantissa, bias;
  friend bool operator==(const Fields&, const Fields&) = default;
};
constexpr Fields half_fields{15, 10, 5, 0, 10, 15}, bfloat16_fields{15, 7, 8, 0, 7, 127};

std::optional<Dtype> floating_dtype(hid_t type) {
  Fields f{};
  if (H5Tget_fields(type, &f.sign, &f.exponent_at, &f.exponent, &f.mantissa_at, &f.mantissa) < 0) return {};
  f.bias = H5Tget_ebias(type);
  if (f == half_fields) return float16;
  if (f == bfloat16_fields) return bfloat16;
  if (f.exponent <= 8 && f.mantissa <= 23) return float32;
  if (f.exponent <= 11 && f.mantissa <= 52) return float64;
  return {};
}

std::optional<Dtype> integer_dtype(hid_t type) {
  constexpr std::array signed_dtypes{int8, int16, int32, int64}, unsigned_dtypes{uint8, uint16, uint32, uint64};
  const auto bytes = H5Tget_size(type);
  if (bytes == 0 || bytes > 8) return {};
  const auto log2 = static_cast<std::size_t>(std::bit_width(bytes - 1));  // a 3-byte integer goes into four
  return H5Tget_sign(type) == H5T_SGN_NONE ? unsigned_dtypes[log2] : signed_dtypes[log2];
}

bool is_boolean_enum(hid_t type) {
  if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  for (unsigned i = 0; i < 2; ++i) {
    std::uint8_t value = 2;
    if (H5Tget_member_value(type, i, &value) < 0 || value > 1 || member_name(type, i) != (value ? "TRUE" : "FALSE")) return false;
  }
  return true;
}

std::optional<Dtype> complex_dtype(hid_t type) {
  if (H5Tget_nmembers(type) != 2) return {};
  const auto real = member_name(type, 0), imaginary = member_name(type, 1);
  if (!(real == "r" && imaginary == "i") && !(real == "real" && imaginary == "imag")) return {};
  std::optional<Dtype> part;
  for (unsigned i = 0; i < 2; ++i) {
    const auto member = member_type(type, i);
    if (H5Tget_class(member) != H5T_FLOAT) return {};
    const auto dtype = floating_dtype(member);
    if (!dtype || (i == 1 && dtype != part)) return {};
    part = dtype;
  }
  return part == float64 ? complex128 : complex64;
}

Handle small_float(const Fields& f) {
  Handle type(H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose);
  checked(H5Tset_fields(type, f.sign, f.exponent_at, f.exponent, f.mantissa_at, f.mantissa), "describe a 16-bit type");
  checked(H5Tset_size(type, 2), "describe a 16-bit type");
  checked(H5Tset_ebias(type, f.bias), "describe a 16-bit type");
  return type;
}

Handle complex_type(Dtype dtype, const char* real, const char* imaginary) {
  const auto part = itemsize(dtype) / 2;
  const auto element = part == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
  Handle type(H5Tcreate(H5T_COMPOUND, 2 * part), H5Tclose);
  checked(H5Tinsert(type, real, 0, element), "describe a complex type");
  checked(H5Tinsert(type, imaginary, part, element), "describe a complex type");
  return type;
}

hid_t predefined_type(Dtype dtype) {
  switch (dtype) {
    case int8:
      return H5T_NATIVE_INT8;
    case int16:
      return H5T_NATIVE_INT16;
    case int32:
      return H5T_NATIVE_INT32;
    case int64:
      return H5T_NATIVE_INT64;
    case uint8:
      return H5T_NATIVE_UINT8;
    case uint16:
      return H5T_NATIVE_UINT16;
    case uint32:
      return H5T_NATIVE_UINT32;
    case uint64:
      return H5T_NATIVE_UINT64;
    case float32:
      return H5T_NATIVE_FLOAT;
    default:
      return H5T_NATIVE_DOUBLE;
  }
}

}  // namespace

std::optional<Dtype> dtype_of_type(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return integer_dtype(type);
    case H5T_FLOAT:
      return floating_dtype(type);
    case H5T_COMPOUND:
      return complex_dtype(type);
    case H5T_ENUM:
      return is_boolean_enum(type) ? bool_ : integer_dtype(Handle(H5Tget_super(type), H5Tclose));
    default:
      return {};
  }
}

std::string type_text(hid_t type) {
  if (const auto dtype = dtype_of_type(type)) return std::string(name(*dtype));
  const auto bits = 8 * H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("integer of {} bits", bits);
    case H5T_FLOAT:
      return fmt::format("float of {} bits", bits);
    case H5T_STRING:
      return H5Tis_variable_str(type) > 0 ? "string" : fmt::format("string[{}]", bits / 8);
    case H5T_COMPOUND: {
      std::string members;
      const auto count = H5Tget_nmembers(type);
      for (unsigned i = 0; static_cast<int>(i) < count && i < 8; ++i) members += (i ? "," : "") + member_name(type, i);
      return fmt::format("compound{{{}{}}}", members, count > 8 ? ",..." : "");
    }
    case H5T_BITFIELD:
      return fmt::format("bitfield of {} bits", bits);
    case H5T_OPAQUE:
      return fmt::format("opaque[{}]", bits / 8);
    case H5T_REFERENCE:
      return "reference";
    case H5T_VLEN:
      return "variable-length list";
    case H5T_ARRAY:
      return "array of " + type_text(Handle(H5Tget_super(type), H5Tclose));
    default:
      return "unknown type";
  }
}

Handle stored_type(Dtype dtype) {
  switch (dtype) {
    case bool_: {
      Handle type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);
      const std::int8_t no = 0, yes = 1;
      checked(H5Tenum_insert(type, "FALSE", &no), "describe bool");
      checked(H5Tenum_insert(type, "TRUE", &yes), "describe bool");
      return type;
    }
    case float16:
      return small_float(half_fields);
    case bfloat16:
      return small_float(bfloat16_fields);
    case complex64:
    case complex128:
      return complex_type(dtype, "r", "i");
    default:
      return {H5Tcopy(predefined_type(dtype)), H5Tclose};
  }
}

Handle memory_type(Dtype dtype, hid_t file_type) {
  // As integers: converting to an enum would turn a value that is neither name into 0xff, which is no C++ bool.
  if (dtype == bool_) return {H5Tcopy(H5T_NATIVE_INT8), H5Tclose};
  // HDF5 matches the members of compounds by name.
  if (is_complex(dtype)) return complex_type(dtype, member_name(file_type, 0).c_str(), member_name(file_type, 1).c_str());
  return stored_type(dtype);
}

}  // namespace meshwise::detail

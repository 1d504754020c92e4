#include "io/attribute_values.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include "io/hdf5_types.hpp"
#include "meshwise/base/error.hpp"

namespace meshwise::detail {

namespace {

using io::Attribute;
using std::int64_t;

template <class T>
void pack_one(PackedText& text, const T& value) {
  if constexpr (std::is_same_v<T, double>)
    text.add(std::bit_cast<int64_t>(value));  // all bits of it, NaNs too
  else if constexpr (std::is_same_v<T, std::string>)
    text.add(std::string_view(value));
  else
    text.add(static_cast<int64_t>(value));
}

template <class T>
T unpack_one(UnpackedText& text) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(text.number());
  else if constexpr (std::is_same_v<T, std::string>)
    return text.words();
  else
    return static_cast<T>(text.number());
}

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

template <class T>
Attribute unpack_value(UnpackedText& text) {
  if constexpr (std::is_same_v<T, std::monostate>)
    return {};
  else if constexpr (is_list<T>) {
    T values;
    for (auto count = text.number(); count > 0; --count) values.push_back(unpack_one<typename T::value_type>(text));
    return values;
  } else
    return unpack_one<T>(text);
}

template <std::size_t... I>
Attribute unpack_alternative(std::size_t index, UnpackedText& text, std::index_sequence<I...>) {
  Attribute value;
  static_cast<void>(((index == I ? (value = unpack_value<std::variant_alternative_t<I, Attribute>>(text), true) : false) || ...));
  return value;
}

// One value of a scalar attribute, else all of a list.
template <class T>
Attribute one_or_all(std::vector<T> values, bool is_scalar) {
  if (!is_scalar) return values;
  return values.front();
}

Handle text_in_memory(hid_t file_type) {
  Handle type(checked(H5Tcopy(H5T_C_S1), "describe a text"), H5Tclose);
  checked(H5Tset_size(type, H5T_VARIABLE), "describe a text");
  checked(H5Tset_cset(type, H5Tget_cset(file_type)), "describe a text");
  return type;
}

std::vector<std::string> read_texts(hid_t attribute, hid_t type, hid_t space, std::size_t count) {
  std::vector<std::string> texts;
  if (count == 0) return texts;
  if (H5Tis_variable_str(type) > 0) {
    const auto memory = text_in_memory(type);
    std::vector<char*> pointers(count, nullptr);
    checked(H5Aread(attribute, memory, pointers.data()), "read an attribute");
    for (const auto* p : pointers) texts.emplace_back(p ? p : "");
    H5Dvlen_reclaim(memory, space, H5P_DEFAULT, pointers.data());
    return texts;
  }
  const auto size = H5Tget_size(type);
  std::string bytes(size * count, '\0');
  checked(H5Aread(attribute, type, bytes.data()), "read an attribute");
  const bool is_padded = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
  for (std::size_t i = 0; i < count; ++i) {
    auto text = bytes.substr(i * size, size);
    text.resize(std::min(text.find('\0'), text.size()));
    if (is_padded) text.resize(text.find_last_not_of(' ') + 1);
    texts.push_back(std::move(text));
  }
  return texts;
}

Attribute read_integers(hid_t attribute, std::size_t count, Dtype dtype, bool is_scalar) {
  std::vector<int64_t> values(count);
  if (dtype == Dtype::uint64) {
    std::vector<std::uint64_t> wide(count);
    if (count > 0) checked(H5Aread(attribute, H5T_NATIVE_UINT64, wide.data()), "read an attribute");
    for (std::size_t i = 0; i < count; ++i) {
      if (wide[i] > static_cast<std::uint64_t>(std::numeric_limits<int64_t>::max())) return {};
      values[i] = static_cast<int64_t>(wide[i]);
    }
  } else if (count > 0) {
    checked(H5Aread(attribute, H5T_NATIVE_INT64, values.data()), "read an attribute");
  }
  if (dtype == Dtype::bool_ && is_scalar) return values.front() != 0;
  return one_or_all(std::move(values), is_scalar);
}

Attribute value_of(hid_t attribute) {
  const Handle type(checked(H5Aget_type(attribute), "read an attribute"), H5Tclose),
      space(checked(H5Aget_space(attribute), "read an attribute"), H5Sclose);
  const auto ndim = H5Sget_simple_extent_ndims(space);
  if (H5Sget_simple_extent_type(space) == H5S_NULL || ndim > 1) return {};
  const auto count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space));
  if (H5Tget_class(type) == H5T_STRING) return one_or_all(read_texts(attribute, type, space, count), ndim == 0);
  const auto dtype = dtype_of_type(type);
  if (!dtype || is_complex(*dtype)) return {};
  if (!is_floating(*dtype)) return read_integers(attribute, count, *dtype, ndim == 0);
  std::vector<double> values(count);
  if (count > 0) checked(H5Aread(attribute, H5T_NATIVE_DOUBLE, values.data()), "read an attribute");
  return one_or_all(std::move(values), ndim == 0);
}

// In HDF5's terms: the type in the file, which is also the one in memory, one value or a list, and where the values are.
struct Stored {
  Handle type;
  bool is_scalar;
  std::size_t count;
  const void* values;
};

Handle numbers(hid_t type) { return {H5Tcopy(type), H5Tclose}; }

Handle texts() {
  auto type = text_in_memory(H5T_C_S1);
  checked(H5Tset_cset(type, H5T_CSET_UTF8), "describe a text");
  return type;
}

void make(hid_t object, const std::string& name, const Stored& stored) {
  const hsize_t count = stored.count;
  const Handle space(checked(stored.is_scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr), "describe an attribute"),
                     H5Sclose);
  const auto action = fmt::format("write the attribute '{}'", name);
  const Handle attribute(checked(H5Acreate2(object, name.c_str(), stored.type, space, H5P_DEFAULT, H5P_DEFAULT), action), H5Aclose);
  if (count > 0) checked(H5Awrite(attribute, stored.type, stored.values), action);
}

const char* c_text(const std::string& text) {
  if (text.find('\0') != std::string::npos) throw CheckpointError("a text of an attribute cannot hold a zero byte");
  return text.c_str();
}

}  // namespace

std::string pack(const io::Attributes& attributes) {
  PackedText text;
  for (const auto& [name, value] : attributes) {
    text.add(std::string_view(name));
    text.add(static_cast<int64_t>(value.index()));
    std::visit(
        [&]<class T>(const T& v) {
          if constexpr (is_list<T>) {
            text.add(static_cast<int64_t>(v.size()));
            for (const auto& each : v) pack_one(text, each);
          } else if constexpr (!std::is_same_v<T, std::monostate>) {
            pack_one(text, v);
          }
        },
        value);
  }
  return text.text();
}

io::Attributes unpack_attributes(std::string_view packed) {
  io::Attributes attributes;
  UnpackedText text(packed);
  while (!text.empty()) {
    auto name = text.words();
    const auto index = static_cast<std::size_t>(text.number());
    attributes.emplace(std::move(name), unpack_alternative(index, text, std::make_index_sequence<std::variant_size_v<Attribute>>()));
  }
  return attributes;
}

io::Attributes attributes_of(hid_t object) {
  std::vector<std::string> names;
  checked(H5Aiterate2(
              object, H5_INDEX_NAME, H5_ITER_INC, nullptr,
              [](hid_t, const char* name, const H5A_info_t*, void* out) -> herr_t {
                static_cast<std::vector<std::string>*>(out)->emplace_back(name);
                return 0;
              },
              &names),
          "list the attributes");
  io::Attributes attributes;
  for (const auto& name : names) {
    const Handle attribute(checked(H5Aopen(object, name.c_str(), H5P_DEFAULT), "open the attribute " + name), H5Aclose);
    attributes.emplace(name, value_of(attribute));
  }
  return attributes;
}

void make_attribute(hid_t object, const std::string& name, const Attribute& value) {
  if (const auto* truth = std::get_if<bool>(&value)) {
    const std::int8_t byte = *truth;
    make(object, name, {stored_type(Dtype::bool_), true, 1, &byte});
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    make(object, name, {numbers(H5T_NATIVE_INT64), true, 1, number});
  } else if (const auto* real = std::get_if<double>(&value)) {
    make(object, name, {numbers(H5T_NATIVE_DOUBLE), true, 1, real});
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    const char* pointer = c_text(*text);
    make(object, name, {texts(), true, 1, &pointer});
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
    make(object, name, {numbers(H5T_NATIVE_INT64), false, integers->size(), integers->data()});
  } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    make(object, name, {numbers(H5T_NATIVE_DOUBLE), false, reals->size(), reals->data()});
  } else if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    std::vector<const char*> pointers;
    for (const auto& each : *list) pointers.push_back(c_text(each));
    make(object, name, {texts(), false, pointers.size(), pointers.data()});
  }
}

}  // namespace meshwise::detail

#pragma once
// Numbers and texts in one text: what one rank tells the others about a file. Local, no MPI.

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "meshwise/base/dtype.hpp"
#include "meshwise/base/shape.hpp"

namespace meshwise::detail {

class PackedText {
 public:
  void add(std::int64_t number) { text_ += std::to_string(number) + ' '; }
  void add(std::string_view words) {
    add(static_cast<std::int64_t>(words.size()));
    text_ += words;
  }
  void add(const Shape& shape) {
    add(shape.ndim());
    for (const auto length : shape) add(length);
  }
  void add(Dtype dtype) { add(static_cast<std::int64_t>(dtype)); }
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(const std::vector<T>& values) { add(std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))); }
  const std::string& text() const { return text_; }

 private:
  std::string text_{};
};

/// Local. Hands out what was packed, in that order.
class UnpackedText {
 public:
  explicit UnpackedText(std::string_view text) : rest_(text) {}
  std::int64_t number() {
    std::int64_t value = 0;
    const auto* end = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value).ptr;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()) + 1);
    return value;
  }
  std::string words() {
    const auto size = static_cast<std::size_t>(number());
    const std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  Shape shape() {
    Shape value;
    for (auto ndim = number(); ndim > 0; --ndim) value.push_back(number());
    return value;
  }
  Dtype dtype() { return static_cast<Dtype>(number()); }
  template <class T>
  requires std::is_arithmetic_v<T> std::vector<T> values() {
    const auto bytes = words();
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace meshwise::detail

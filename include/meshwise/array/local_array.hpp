#pragma once
// Values in this rank's memory: shape, dtype, strides, no placement. It can't be mistaken for an Array.

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "meshwise/base/dtype.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/shape.hpp"
#include "meshwise/runtime/block_store.hpp"

namespace meshwise {

/// Local. A C++ type that has a dtype: an element of arrays.
template <class T>
concept Element = (std::integral<T> && sizeof(T) <= 8) || std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, float16_t> ||
                  std::same_as<T, bfloat16_t> || std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

/// Local. A typed strided window: v(i, j) by axes, v[k] the k-th element in row-major order, and iteration in that order.
template <class T>
class View {
 public:
  View(T* data, Shape shape, PerAxis<std::int64_t> strides, std::shared_ptr<const void> owner = nullptr)
      : data_(data), shape_(std::move(shape)), strides_(std::move(strides)), owner_(std::move(owner)) {}

  const Shape& shape() const { return shape_; }
  const PerAxis<std::int64_t>& strides() const { return strides_; }
  std::int64_t size() const { return shape_.num_elements(); }
  T* data() const { return data_; }
  template <class... I>
  T& operator()(I... at) const {
    const std::int64_t index[] = {static_cast<std::int64_t>(at)..., 0};
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < sizeof...(at); ++d) offset += index[d] * strides_[d];
    return data_[offset];
  }
  T& operator[](std::int64_t k) const {
    std::int64_t offset = 0;
    for (std::int64_t d = shape_.ndim(); d-- > 0;) {
      offset += k % shape_[d] * strides_[static_cast<std::size_t>(d)];
      k /= shape_[d];
    }
    return data_[offset];
  }

  class Iterator {
   public:
    using value_type = std::remove_const_t<T>;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const View* view, std::int64_t at) : view_(view), at_(at) {}
    T& operator*() const { return (*view_)[at_]; }
    Iterator& operator++() { ++at_; return *this; }
    Iterator operator++(int) { auto before = *this; ++at_; return before; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    const View* view_ = nullptr;
    std::int64_t at_ = 0;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  T* data_;
  Shape shape_;
  PerAxis<std::int64_t> strides_;
  std::shared_ptr<const void> owner_;  // a view may outlive the array it came from
};

/// Local. Shape, dtype and memory of this rank; a handle, cheap to copy. Strides count elements.
class LocalArray {
 public:
  LocalArray() = default;
  /// Local. A dense row-major array, contents undefined. Throws: OutOfMemoryError.
  LocalArray(Shape shape, Dtype dtype);
  /// Local. A window on a block: `offset` in bytes, strides in elements. Without a block it has a shape and no memory yet.
  LocalArray(Shape shape, Dtype dtype, std::shared_ptr<detail::Block> block, std::size_t offset, PerAxis<std::int64_t> strides);
  /// Local. A copy of `values`, row-major. Throws: ShapeError when their number is not the shape's.
  template <Element T>
  static LocalArray from(std::span<const T> values, const Shape& shape) {
    LocalArray out(shape, dtype_of<T>());
    out.check_count(static_cast<std::int64_t>(values.size()));
    if (!values.empty()) std::memcpy(out.data(), values.data(), values.size_bytes());
    return out;
  }

  const Shape& shape() const { return shape_; }
  Dtype dtype() const { return dtype_; }
  std::int64_t ndim() const { return shape_.ndim(); }
  std::int64_t size() const { return shape_.num_elements(); }
  std::int64_t nbytes() const { return size() * static_cast<std::int64_t>(itemsize(dtype_)); }
  const PerAxis<std::int64_t>& strides() const { return strides_; }
  bool is_contiguous() const;
  const std::shared_ptr<detail::Block>& block() const { return block_; }
  /// Local. The first element's address.
  std::byte* data() const { return data_; }

  /// Local. The values. Throws: DtypeError when T is not the dtype's type.
  template <class T>
  View<const T> view() const {
    check_dtype(dtype_of<T>());
    return {reinterpret_cast<const T*>(data_), shape_, strides_, block_};
  }
  /// Local. The values, to write: for the maker of a fresh array (a creation callback fills its `out` so).
  template <class T>
  View<T> mutable_view() const {
    check_dtype(dtype_of<T>());
    return {reinterpret_cast<T*>(data_), shape_, strides_, block_};
  }

  /// Local. Windows on the same block, no bytes move.
  LocalArray box(const Index& box) const;
  LocalArray transposed(const std::vector<std::int64_t>& permutation) const;
  /// Local. Itself when dense, else a dense copy.
  LocalArray contiguous() const;
  /// Local. Same elements in row-major order under another shape: a window where strides allow, else a copy.
  LocalArray reshaped(const Shape& shape) const;

 private:
  void check_count(std::int64_t values) const;
  void check_dtype(Dtype wanted) const;

  Shape shape_{};
  Dtype dtype_ = Dtype::float32;
  std::shared_ptr<detail::Block> block_{};
  std::byte* data_ = nullptr;
  PerAxis<std::int64_t> strides_{};
};

/// Local. Copies values between local arrays of equal shape and dtype, whatever their strides.
void copy_values(const LocalArray& source, const LocalArray& target);

/// Local. The values as NumPy prints them.
std::string to_string(const LocalArray& values);

}  // namespace meshwise

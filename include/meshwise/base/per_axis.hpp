#pragma once
// A short list with one value for each axis of an array.

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace meshwise {

/// Local. Like a vector of plain values. Few arrays have more than four axes: up to four values lie in the object itself, and no memory is taken.
// Not boost::container::small_vector: GCC 12 warns about its copies wherever they are inlined, in users' code too.
template <class T>
class PerAxis {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  PerAxis() = default;
  explicit PerAxis(std::size_t count, const T& value = T{}) { resize(count, value); }
  PerAxis(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  template <std::forward_iterator It>
  PerAxis(It first, It last) {
    assign(first, last);
  }
  PerAxis(const PerAxis& other) { assign(other.begin(), other.end()); }
  PerAxis(PerAxis&& other) noexcept { *this = std::move(other); }
  PerAxis& operator=(const PerAxis& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  PerAxis& operator=(PerAxis&& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, inside);
    far_ = std::move(other.far_);
    if (!far_) std::copy_n(other.near_, inside, near_);
    return *this;
  }
  ~PerAxis() = default;

  template <std::forward_iterator It>
  void assign(It first, It last) {
    const auto count = static_cast<std::size_t>(std::distance(first, last));
    size_ = 0;
    reserve(count);
    std::copy(first, last, data());
    size_ = count;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return far_ ? far_.get() : near_; }
  const T* data() const { return far_ ? far_.get() : near_; }
  T& operator[](std::size_t axis) { return data()[axis]; }
  const T& operator[](std::size_t axis) const { return data()[axis]; }
  T& front() { return *data(); }
  const T& front() const { return *data(); }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  auto rbegin() const { return std::make_reverse_iterator(end()); }
  auto rend() const { return std::make_reverse_iterator(begin()); }

  void reserve(std::size_t count) {
    if (count <= room_) return;
    auto more = std::make_unique<T[]>(count);
    std::copy(begin(), end(), more.get());
    far_ = std::move(more);
    room_ = count;
  }
  void resize(std::size_t count, const T& value = T{}) {
    reserve(count);
    if (count > size_) std::fill(data() + size_, data() + count, value);
    size_ = count;
  }
  void clear() { size_ = 0; }
  void push_back(T value) {
    if (size_ == room_) reserve(2 * room_);
    data()[size_++] = value;
  }
  T* insert(const T* at, T value) {
    const auto place = at - data();
    push_back(value);
    std::rotate(begin() + place, end() - 1, end());
    return begin() + place;
  }
  T* erase(const T* at) {
    const auto place = at - data();
    std::copy(begin() + place + 1, end(), begin() + place);
    --size_;
    return begin() + place;
  }

  friend bool operator==(const PerAxis& a, const PerAxis& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  static constexpr std::size_t inside = 4;
  std::size_t size_ = 0, room_ = inside;
  std::unique_ptr<T[]> far_{};
  T near_[inside]{};
};

}  // namespace meshwise

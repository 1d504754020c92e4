#pragma once
// Shapes, half-open index ranges, and row-major arithmetic. All numbers are 64-bit.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "meshwise/base/per_axis.hpp"

namespace meshwise {

/// Local. The lengths of an array's axes; `Shape{}` is a scalar's.
class Shape {
 public:
  using value_type = std::int64_t;
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> lengths) : lengths_(lengths) {}
  explicit Shape(const std::vector<std::int64_t>& lengths) : lengths_(lengths.begin(), lengths.end()) {}
  explicit Shape(PerAxis<std::int64_t> lengths) : lengths_(std::move(lengths)) {}

  std::int64_t ndim() const { return static_cast<std::int64_t>(lengths_.size()); }
  /// Local. Number of elements: the product of the lengths, 1 for a scalar.
  std::int64_t num_elements() const;
  std::int64_t operator[](std::int64_t axis) const { return lengths_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](std::int64_t axis) { return lengths_[static_cast<std::size_t>(axis)]; }
  auto begin() const { return lengths_.begin(); }
  auto end() const { return lengths_.end(); }
  bool empty() const { return lengths_.empty(); }
  void push_back(std::int64_t length) { lengths_.push_back(length); }
  void insert(std::int64_t axis, std::int64_t length) { lengths_.insert(lengths_.begin() + axis, length); }
  void erase(std::int64_t axis) { lengths_.erase(lengths_.begin() + axis); }
  const PerAxis<std::int64_t>& lengths() const { return lengths_; }
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  PerAxis<std::int64_t> lengths_;
};

/// Local. `(8, 16)`, `(16,)`, `()`: as Python prints a tuple.
std::string to_string(const Shape& shape);
/// Local. `8,16`: as a type prints it between its brackets.
std::string joined(const Shape& shape);
/// Local. Steps, in elements, between neighbours along each axis of a dense row-major array.
PerAxis<std::int64_t> row_major_strides(const Shape& shape);
/// Local. NumPy's broadcast of two shapes. Throws: ShapeError naming `operation`, both shapes and the first bad axis.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* operation);
/// Local. `axis` counted from the front. Throws: IndexError naming axis and ndim.
std::int64_t normalize_axis(std::int64_t axis, std::int64_t ndim, const char* operation);

/// Local. A half-open range [start, stop).
struct Range {
  std::int64_t start = 0, stop = 0;
  std::int64_t size() const { return stop - start; }
  bool empty() const { return stop <= start; }
  friend bool operator==(const Range&, const Range&) = default;
};

inline Range intersect(Range a, Range b) {
  const Range r{a.start > b.start ? a.start : b.start, a.stop < b.stop ? a.stop : b.stop};
  return r.stop < r.start ? Range{r.start, r.start} : r;
}

/// Local. A box of an array: one half-open range per axis. Part (1,0) of an (8,16) array cut (4,2): [2,4) x [0,8).
class Index {
 public:
  Index() = default;
  Index(std::initializer_list<Range> ranges) : ranges_(ranges) {}
  explicit Index(PerAxis<Range> ranges) : ranges_(std::move(ranges)) {}
  /// Local. The box that is the whole of `shape`.
  static Index whole(const Shape& shape);

  std::int64_t ndim() const { return static_cast<std::int64_t>(ranges_.size()); }
  const Range& operator[](std::int64_t axis) const { return ranges_[static_cast<std::size_t>(axis)]; }
  Range& operator[](std::int64_t axis) { return ranges_[static_cast<std::size_t>(axis)]; }
  auto begin() const { return ranges_.begin(); }
  auto end() const { return ranges_.end(); }
  void push_back(Range range) { ranges_.push_back(range); }
  Shape shape() const;
  std::int64_t num_elements() const;
  bool empty() const { return num_elements() == 0; }
  friend bool operator==(const Index&, const Index&) = default;

 private:
  PerAxis<Range> ranges_;
};

/// Local. `[0:2, 8:16]`.
std::string to_string(const Index& index);

/// Local. Part t of K over n elements is [floor(t*n/K), floor((t+1)*n/K)): balanced, nested, equal where K divides n.
Range part(std::int64_t t, std::int64_t parts, std::int64_t length);
/// Local. The part of K over n that holds element i, 0 <= i < n.
std::int64_t part_of(std::int64_t element, std::int64_t parts, std::int64_t length);

}  // namespace meshwise

#include "meshwise/base/shape.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "meshwise/base/error.hpp"

namespace meshwise {

std::int64_t Shape::num_elements() const {
  if (std::find(lengths_.begin(), lengths_.end(), 0) != lengths_.end()) return 0;
  std::int64_t product = 1;
  for (const auto n : lengths_)
    if (n < 0 || __builtin_mul_overflow(product, n, &product))
      throw ShapeError(n < 0 ? fmt::format("shape {} has a negative length", to_string(*this))
                             : fmt::format("shape {} has more than 2^63 - 1 elements", to_string(*this)));
  return product;
}

std::string to_string(const Shape& shape) { return fmt::format("({}{})", fmt::join(shape.lengths(), ", "), shape.ndim() == 1 ? "," : ""); }

std::string joined(const Shape& shape) { return fmt::format("{}", fmt::join(shape.lengths(), ",")); }

PerAxis<std::int64_t> row_major_strides(const Shape& shape) {
  PerAxis<std::int64_t> strides(shape.lengths().size());
  std::int64_t step = 1;
  for (auto axis = shape.ndim() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = step;
    // Of an array without elements the other lengths may be of any size, and the strides are never used.
    step = static_cast<std::int64_t>(static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(shape[axis]));
  }
  return strides;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* operation) {
  const auto ndim = std::max(a.ndim(), b.ndim());
  PerAxis<std::int64_t> lengths(static_cast<std::size_t>(ndim));
  for (std::int64_t axis = 0; axis < ndim; ++axis) {
    const auto in_a = axis - (ndim - a.ndim()), in_b = axis - (ndim - b.ndim());
    const auto m = in_a < 0 ? 1 : a[in_a], n = in_b < 0 ? 1 : b[in_b];
    if (m != n && m != 1 && n != 1)
      throw ShapeError(
          fmt::format("{}: shapes {} and {} do not broadcast: counted from the back, axis {} has lengths {} and {}, "
                      "which must be equal or one of them 1",
                      operation, to_string(a), to_string(b), axis - ndim, m, n));
    lengths[static_cast<std::size_t>(axis)] = m == 1 ? n : m;
  }
  return Shape(std::move(lengths));
}

std::int64_t normalize_axis(std::int64_t axis, std::int64_t ndim, const char* operation) {
  if (axis >= -ndim && axis < ndim) return axis < 0 ? axis + ndim : axis;
  if (ndim == 0) throw IndexError(fmt::format("{}: axis {} of a scalar, which has none", operation, axis));
  throw IndexError(fmt::format("{}: axis {} of an array with {} {}; they are {} to {}", operation, axis, ndim, ndim == 1 ? "axis" : "axes",
                               -ndim, ndim - 1));
}

Index Index::whole(const Shape& shape) {
  PerAxis<Range> ranges;
  ranges.reserve(shape.lengths().size());
  for (const auto n : shape) ranges.push_back({0, n});
  return Index(std::move(ranges));
}

Shape Index::shape() const {
  PerAxis<std::int64_t> lengths;
  lengths.reserve(ranges_.size());
  for (const auto& r : ranges_) lengths.push_back(r.empty() ? 0 : r.size());
  return Shape(std::move(lengths));
}

std::int64_t Index::num_elements() const {
  std::int64_t product = 1;
  for (const auto& r : ranges_) {
    if (r.empty()) return 0;
    product *= r.size();
  }
  return product;
}

std::string to_string(const Index& index) {
  std::string text;
  for (const auto& r : index) text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", r.start, r.stop);
  return "[" + text + "]";
}

Range part(std::int64_t t, std::int64_t parts, std::int64_t length) {
  // t * length may not fit; with length = q * parts + r, floor(t * length / parts) = t * q + floor(t * r / parts).
  const auto q = length / parts, r = length % parts;
  return {t * q + t * r / parts, (t + 1) * q + (t + 1) * r / parts};
}

std::int64_t part_of(std::int64_t element, std::int64_t parts, std::int64_t length) {
  __extension__ using wide = __int128;
  return static_cast<std::int64_t>((wide{element + 1} * parts - 1) / length);
}

}  // namespace meshwise

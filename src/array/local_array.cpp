#include "meshwise/array/local_array.hpp"

#include <fmt/format.h>

#include "meshwise/runtime/transport.hpp"

namespace meshwise {

namespace {

detail::StridedBox strided_box(const LocalArray& a) {
  detail::StridedBox box;
  box.base = a.data();
  box.itemsize = itemsize(a.dtype());
  box.extents = a.shape().lengths();
  box.strides = a.strides();
  for (auto& stride : box.strides) stride *= static_cast<std::int64_t>(box.itemsize);
  return box;
}

/// Strides under which the same memory reads as `shape`, if there are any (NumPy's rule for a reshape without a copy).
bool window_strides(const LocalArray& a, const Shape& shape, std::vector<std::int64_t>& out) {
  std::vector<std::int64_t> lengths, strides;
  for (std::int64_t d = 0; d < a.ndim(); ++d)
    if (a.shape()[d] != 1) {
      lengths.push_back(a.shape()[d]);
      strides.push_back(a.strides()[static_cast<std::size_t>(d)]);
    }
  out.assign(static_cast<std::size_t>(shape.ndim()), 1);
  std::size_t old_begin = 0;
  std::int64_t new_begin = 0;
  while (old_begin < lengths.size()) {
    while (new_begin < shape.ndim() && shape[new_begin] == 1) ++new_begin;
    if (new_begin == shape.ndim()) return false;
    std::size_t old_end = old_begin + 1;
    std::int64_t new_end = new_begin + 1;
    std::int64_t old_size = lengths[old_begin], new_size = shape[new_begin];
    while (old_size != new_size) {
      if (old_size < new_size) {
        if (old_end == lengths.size()) return false;
        old_size *= lengths[old_end++];
      } else {
        if (new_end == shape.ndim()) return false;
        new_size *= shape[new_end++];
      }
    }
    for (std::size_t d = old_begin; d + 1 < old_end; ++d)
      if (strides[d] != strides[d + 1] * lengths[d + 1]) return false;
    std::int64_t stride = strides[old_end - 1];
    for (std::int64_t d = new_end; d-- > new_begin;) {
      out[static_cast<std::size_t>(d)] = stride;
      stride *= shape[d];
    }
    old_begin = old_end;
    new_begin = new_end;
  }
  return true;
}

}  // namespace

LocalArray::LocalArray(Shape shape, Dtype dtype)
    : shape_(std::move(shape)),
      dtype_(dtype),
      block_(detail::block_store().allocate(static_cast<std::size_t>(shape_.num_elements()) * itemsize(dtype))),
      data_(block_->data()),
      strides_(row_major_strides(shape_)) {}

LocalArray::LocalArray(Shape shape, Dtype dtype, std::shared_ptr<detail::Block> block, std::size_t offset,
                       std::vector<std::int64_t> strides)
    : shape_(std::move(shape)),
      dtype_(dtype),
      block_(std::move(block)),
      data_(block_->data() + offset),
      strides_(std::move(strides)) {}

void LocalArray::check_count(std::int64_t values) const {
  if (values != size())
    throw ShapeError(fmt::format("LocalArray::from: {} values do not fill shape {} ({} elements)", values,
                                 to_string(shape_), size()));
}

void LocalArray::check_dtype(Dtype wanted) const {
  if (wanted != dtype_)
    throw DtypeError(fmt::format("view<{0}>: the array is {1}[{2}]; ask for {1}, or convert with astype({0})",
                                 name(wanted), name(dtype_), joined(shape_)));
}

bool LocalArray::is_contiguous() const {
  std::int64_t step = 1;
  if (size() == 0) return true;
  for (std::int64_t d = ndim(); d-- > 0;) {
    if (shape_[d] != 1 && strides_[static_cast<std::size_t>(d)] != step) return false;
    step *= shape_[d];
  }
  return true;
}

LocalArray LocalArray::box(const Index& box) const {
  LocalArray out(*this);
  out.shape_ = box.shape();
  std::int64_t offset = 0;
  for (std::int64_t d = 0; d < ndim(); ++d) offset += box[d].start * strides_[static_cast<std::size_t>(d)];
  if (out.size() > 0) out.data_ = data_ + offset * static_cast<std::int64_t>(itemsize(dtype_));
  return out;
}

LocalArray LocalArray::transposed(const std::vector<std::int64_t>& permutation) const {
  LocalArray out(*this);
  for (std::int64_t d = 0; d < ndim(); ++d) {
    const auto from = permutation[static_cast<std::size_t>(d)];
    out.shape_[d] = shape_[from];
    out.strides_[static_cast<std::size_t>(d)] = strides_[static_cast<std::size_t>(from)];
  }
  return out;
}

LocalArray LocalArray::contiguous() const {
  if (is_contiguous()) return *this;
  LocalArray out(shape_, dtype_);
  copy_values(*this, out);
  return out;
}

LocalArray LocalArray::reshaped(const Shape& shape) const {
  if (shape == shape_) return *this;
  if (shape.num_elements() != size())
    throw ShapeError(fmt::format("reshape: {} elements of shape {} do not fill shape {}", size(), to_string(shape_),
                                 to_string(shape)));
  LocalArray out(*this);
  if (size() == 0 || !window_strides(*this, shape, out.strides_)) {
    out = contiguous();
    out.strides_ = row_major_strides(shape);
  }
  out.shape_ = shape;
  return out;
}

void copy_values(const LocalArray& source, const LocalArray& target) {
  if (source.size() > 0) detail::copy_box(strided_box(source), strided_box(target));
}

}  // namespace meshwise

#include "meshwise/array/local_array.hpp"

#include <fmt/format.h>

#include "array/strides.hpp"
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

}  // namespace

LocalArray::LocalArray(Shape shape, Dtype dtype)
    : shape_(std::move(shape)),
      dtype_(dtype),
      block_(detail::block_store().allocate(static_cast<std::size_t>(shape_.num_elements()) * itemsize(dtype))),
      data_(block_->data()),
      strides_(row_major_strides(shape_)) {}

LocalArray::LocalArray(Shape shape, Dtype dtype, std::shared_ptr<detail::Block> block, std::size_t offset,
                       PerAxis<std::int64_t> strides)
    : shape_(std::move(shape)),
      dtype_(dtype),
      block_(std::move(block)),
      data_(block_ ? block_->data() + offset : nullptr),
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
  auto window = size() == 0 ? std::nullopt : detail::reshape_strides(shape_, strides_, shape);
  LocalArray out = window ? *this : contiguous();
  out.strides_ = window ? std::move(*window) : row_major_strides(shape);
  out.shape_ = shape;
  return out;
}

void copy_values(const LocalArray& source, const LocalArray& target) {
  if (source.size() > 0) detail::copy_box(strided_box(source), strided_box(target));
}

}  // namespace meshwise

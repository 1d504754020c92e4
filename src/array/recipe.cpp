#include "array/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "array/convert.hpp"
#include "array/strides.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/runtime/sequence.hpp"

namespace meshwise::detail {
namespace {

/// Another generator's values in another dtype.
class Cast final : public Generator {
 public:
  Cast(std::shared_ptr<const Generator> inner, Dtype dtype) : inner_(std::move(inner)), dtype_(dtype) {}
  Dtype dtype() const override { return dtype_; }
  std::uint64_t hash() const override { return mix(inner_->hash(), static_cast<std::uint64_t>(dtype_) + 1); }

  void run(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    // In pieces that stay in the first cache: a whole temporary would double the memory of a placement.
    constexpr std::int64_t piece = 512;
    alignas(16) std::array<std::byte, 16 * piece> buffer;
    const auto size = static_cast<std::int64_t>(itemsize(dtype_));
    for (std::int64_t done = 0; done < count; done += piece) {
      const auto n = std::min(piece, count - done);
      inner_->run(first + done * step, step, n, buffer.data());
      convert_values(inner_->dtype(), buffer.data(), dtype_, out + done * size, n);
    }
  }

 private:
  std::shared_ptr<const Generator> inner_;
  Dtype dtype_;
};

/// The elements of a recipe in row-major order: what a reshape needs when no strides say it.
class Flattened final : public Generator {
 public:
  explicit Flattened(Recipe inner) : inner_(std::move(inner)) {}
  Dtype dtype() const override { return inner_.dtype(); }
  std::uint64_t hash() const override { return mix(inner_.hash(), 2); }

  void run(std::int64_t first, std::int64_t step, std::int64_t count, std::byte* out) const override {
    const auto size = static_cast<std::int64_t>(itemsize(dtype()));
    const auto last = inner_.shape.ndim() - 1;
    const auto row = inner_.shape[last], stride = inner_.strides.back();
    while (count > 0) {
      const auto column = first % row;
      // How many of the steps stay in this row.
      const auto n = step == 0 ? count : std::min(count, step > 0 ? (row - 1 - column) / step + 1 : column / -step + 1);
      auto at = inner_.offset + column * stride;
      auto rest = first / row;
      for (auto d = last; d-- > 0; rest /= inner_.shape[d]) at += rest % inner_.shape[d] * inner_.strides[static_cast<std::size_t>(d)];
      inner_.generator->run(at, step * stride, n, out);
      out += n * size;
      first += n * step;
      count -= n;
    }
  }

 private:
  Recipe inner_;
};

/// One axis of a fill: how far its neighbours are apart in the generator and in the target.
struct FillAxis {
  std::int64_t length, from, to;
};

/// The axes of a box, neighbours merged wherever both sides step evenly over the two: a box of whole rows is one run.
std::vector<FillAxis> merged_axes(const Shape& shape, const PerAxis<std::int64_t>& from, const PerAxis<std::int64_t>& to) {
  std::vector<FillAxis> axes;
  for (std::int64_t d = 0; d < shape.ndim(); ++d) {
    if (shape[d] == 1) continue;
    const FillAxis axis{shape[d], from[static_cast<std::size_t>(d)], to[static_cast<std::size_t>(d)]};
    if (!axes.empty() && axes.back().from == axis.from * axis.length && axes.back().to == axis.to * axis.length)
      axes.back() = {axes.back().length * axis.length, axis.from, axis.to};
    else
      axes.push_back(axis);
  }
  if (axes.empty()) axes.push_back({1, 0, 1});
  return axes;
}

/// Repeats the element at `out` until there are `count`.
void repeat(std::byte* out, std::size_t size, std::int64_t count) {
  const auto total = size * static_cast<std::size_t>(count);
  for (std::size_t done = size; done < total; done *= 2) std::memcpy(out + done, out, std::min(done, total - done));
}

void fill_row(const Generator& generator, std::int64_t first, const FillAxis& axis, std::byte* out) {
  const auto size = static_cast<std::int64_t>(itemsize(generator.dtype()));
  if (axis.to == 1 || axis.length == 1) {
    if (axis.from != 0) return generator.run(first, axis.from, axis.length, out);
    generator.run(first, 0, 1, out);
    return repeat(out, static_cast<std::size_t>(size), axis.length);
  }
  constexpr std::int64_t piece = 512;
  alignas(16) std::array<std::byte, 16 * piece> buffer;
  for (std::int64_t done = 0; done < axis.length; done += piece) {
    const auto n = std::min(piece, axis.length - done);
    generator.run(first + done * axis.from, axis.from, n, buffer.data());
    for (std::int64_t i = 0; i < n; ++i)
      std::memcpy(out + (done + i) * axis.to * size, buffer.data() + i * size, static_cast<std::size_t>(size));
  }
}

}  // namespace

void Recipe::fill(const Index& box, const LocalArray& out) const {
  if (box.empty()) return;
  std::int64_t at = offset;
  for (std::int64_t d = 0; d < box.ndim(); ++d) at += box[d].start * strides[static_cast<std::size_t>(d)];
  auto axes = merged_axes(box.shape(), strides, out.strides());
  const auto size = static_cast<std::int64_t>(itemsize(dtype()));
  const FillAxis inner = axes.back();
  axes.pop_back();
  std::vector<std::int64_t> index(axes.size());
  auto* target = out.data();
  while (true) {
    fill_row(*generator, at, inner, target);
    auto d = axes.size();
    while (d > 0) {
      const auto& axis = axes[d - 1];
      at += axis.from;
      target += axis.to * size;
      if (++index[d - 1] < axis.length) break;
      at -= axis.from * axis.length;
      target -= axis.to * axis.length * size;
      index[--d] = 0;
    }
    if (d == 0) return;
  }
}

LocalArray Recipe::make(const Index& box) const {
  LocalArray out(box.shape(), dtype());
  fill(box, out);
  return out;
}

std::uint64_t Recipe::hash() const {
  std::uint64_t h = mix(generator->hash(), static_cast<std::uint64_t>(offset));
  for (std::int64_t d = 0; d < shape.ndim(); ++d)
    h = mix(mix(h, static_cast<std::uint64_t>(shape[d])), static_cast<std::uint64_t>(strides[static_cast<std::size_t>(d)]));
  return h;
}

Recipe Recipe::over(std::shared_ptr<const Generator> generator, const Shape& shape) {
  return {std::move(generator), shape, 0, row_major_strides(shape)};
}

Recipe Recipe::astype(Dtype dtype) const {
  if (dtype == this->dtype()) return *this;
  Recipe out = *this;
  out.generator = std::make_shared<Cast>(generator, dtype);
  return out;
}

Recipe Recipe::reshaped(const Shape& to) const {
  if (to == shape) return *this;
  if (to.num_elements() != shape.num_elements())
    throw ShapeError(
        fmt::format("reshape: {} elements of shape {} do not fill shape {}", shape.num_elements(), to_string(shape), to_string(to)));
  if (to.num_elements() == 0) return {generator, to, offset, row_major_strides(to)};
  if (auto window = reshape_strides(shape, strides, to)) return {generator, to, offset, std::move(*window)};
  return over(std::make_shared<Flattened>(*this), to);
}

Recipe Recipe::transposed(const std::vector<std::int64_t>& permutation) const {
  Recipe out = *this;
  for (std::size_t d = 0; d < permutation.size(); ++d) {
    out.shape[static_cast<std::int64_t>(d)] = shape[permutation[d]];
    out.strides[d] = strides[static_cast<std::size_t>(permutation[d])];
  }
  return out;
}

Recipe Recipe::broadcast_to(const Shape& to) const {
  Recipe out{generator, to, offset, PerAxis<std::int64_t>(to.lengths().size(), 0)};
  const auto shift = to.ndim() - shape.ndim();
  for (std::int64_t d = 0; d < shape.ndim(); ++d)
    if (shape[d] == to[d + shift]) out.strides[static_cast<std::size_t>(d + shift)] = strides[static_cast<std::size_t>(d)];
  return out;
}

Recipe Recipe::sliced(const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& steps, const Shape& counts) const {
  Recipe out = *this;
  out.shape = counts;
  for (std::size_t d = 0; d < starts.size(); ++d) {
    if (counts[static_cast<std::int64_t>(d)] > 0) out.offset += starts[d] * strides[d];
    out.strides[d] *= steps[d];
  }
  return out;
}

}  // namespace meshwise::detail

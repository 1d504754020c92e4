#include "meshwise/ops/windows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "ops/kernels/elementwise_op.hpp"
#include "ops/kernels/windows.hpp"
#include "ops/split_axis.hpp"
#include "ops/widened.hpp"

namespace meshwise {

namespace {

using detail::WindowOp;
using Lengths = std::vector<std::int64_t>;

Dtype result_dtype(WindowOp op, Dtype dtype) {
  if (op == WindowOp::mean) return detail::work_dtype(detail::WorkRule::inexact, dtype);
  if (op != WindowOp::sum) return dtype;
  if (dtype == bool_) return int32;
  if (!is_integer(dtype) || itemsize(dtype) >= 4) return dtype;
  return kind(dtype) == DtypeKind::unsigned_integer ? uint32 : int32;
}

void check(const char* name, WindowOp op, const Array& x, const Lengths& sizes, const Lengths& strides) {
  if (std::ssize(sizes) != x.ndim() || (!strides.empty() && std::ssize(strides) != x.ndim()))
    throw ShapeError(fmt::format("{}: {} sizes and {} strides for {}, which has {} axes; 1 leaves an axis as it is", name, sizes.size(),
                                 strides.size(), type_string(x), x.ndim()));
  for (const auto* lengths : {&sizes, &strides})
    for (const auto length : *lengths)
      if (length < 1)
        throw ShapeError(
            fmt::format("{}: sizes ({}) and strides ({}) are 1 or more", name, fmt::join(sizes, ", "), fmt::join(strides, ", ")));
  if (is_complex(x.dtype()) && (op == WindowOp::max || op == WindowOp::min))
    throw DtypeError(fmt::format("{}: not defined for argument x, {}: {} have no order. Take abs(x), real(x) or imag(x) instead", name,
                                 type_string(x), meshwise::name(x.dtype())));
}

Array reduce_windows(const char* name, WindowOp op, const Array& x, const Lengths& sizes, const Lengths& strides, Padding padding) {
  check(name, op, x, sizes, strides);
  detail::Request request;
  request.operation = name;
  request.rule = LayoutRule::blockwise;
  request.dtype = result_dtype(op, x.dtype());
  request.salt = static_cast<std::uint64_t>(padding);
  std::vector<detail::WindowAxis> axes;
  std::vector<detail::Reach> reaches;
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    const auto size = sizes[static_cast<std::size_t>(d)], stride = strides.empty() ? 1 : strides[static_cast<std::size_t>(d)];
    axes.push_back(detail::window_axis(x.shape()[d], size, stride, padding == Padding::same));
    reaches.push_back(detail::window_reach(x.shape()[d], detail::split_of(x, d).parts, axes.back()));
    request.shape.push_back(axes.back().count);
    request.salt = detail::mix(request.salt, detail::mix(static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(stride)));
  }
  const auto wide = detail::widened(name, x, std::move(reaches), {}, 0, request.salt);
  const Operand operands[] = {wide.array};
  request.operands = operands;
  request.kernel = [&](std::span<const LocalArray> in, const detail::KernelContext& context) {
    const auto& box = context.result_box;
    if (box.empty()) return LocalArray(box.shape(), request.dtype);
    const auto start = wide.start(box, request.shape);
    std::vector<detail::WindowLine> lines;
    for (std::int64_t d = 0; d < box.ndim(); ++d) {
      const auto& axis = axes[static_cast<std::size_t>(d)];
      lines.push_back(
          {axis.size, axis.stride, box[d].start * axis.stride - axis.before - start[static_cast<std::size_t>(d)], box[d].size()});
    }
    return run_windows(op, wide.block(in[0], context.operand_boxes[0], box, request.shape), lines, request.dtype);
  };
  return detail::dispatch(request);
}

}  // namespace

Array window_sum(const Array& x, const Lengths& sizes, const Lengths& strides, Padding padding) {
  return reduce_windows("window_sum", WindowOp::sum, x, sizes, strides, padding);
}
Array window_mean(const Array& x, const Lengths& sizes, const Lengths& strides, Padding padding) {
  return reduce_windows("window_mean", WindowOp::mean, x, sizes, strides, padding);
}
Array window_max(const Array& x, const Lengths& sizes, const Lengths& strides, Padding padding) {
  return reduce_windows("window_max", WindowOp::max, x, sizes, strides, padding);
}
Array window_min(const Array& x, const Lengths& sizes, const Lengths& strides, Padding padding) {
  return reduce_windows("window_min", WindowOp::min, x, sizes, strides, padding);
}

}  // namespace meshwise

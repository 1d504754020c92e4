#include "meshwise/ops/windows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/boxes.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "ops/kernels/elementwise_op.hpp"
#include "ops/kernels/windows.hpp"
#include "ops/rims.hpp"
#include "ops/split_axis.hpp"

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

// Sums are kept in float64: of a tile, not of the whole block. Tiles have the whole of the inner axes, and are not thin beside their windows.
template <class F>
void each_tile(const Index& box, const Lengths& sizes, F&& f) {
  constexpr std::int64_t most = 32 << 10;
  if (box.empty()) return;
  auto elements = box.shape().num_elements();
  PerAxis<std::int64_t> pieces;
  for (std::int64_t d = 0; d < box.ndim(); ++d) {
    const auto length = box[d].size(), thinnest = std::min(length, 2 * sizes[static_cast<std::size_t>(d)]);
    const auto count = std::clamp<std::int64_t>((elements + most - 1) / most, 1, length / thinnest);
    pieces.push_back(count);
    elements = (elements + count - 1) / count;
  }
  auto tile = box;
  const auto go_on = [&](auto& self, std::int64_t d) -> void {
    if (d == box.ndim()) return f(tile);
    for (std::int64_t piece = 0; piece < pieces[static_cast<std::size_t>(d)]; ++piece) {
      const auto range = part(piece, pieces[static_cast<std::size_t>(d)], box[d].size());
      tile[d] = {box[d].start + range.start, box[d].start + range.stop};
      self(self, d + 1);
    }
  };
  go_on(go_on, 0);
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
  const detail::Rims rims(name, x, reaches, request.salt);
  request.operands = rims.operands();
  request.kernel = [op, sizes, axes, rims, from = x.shape(), whole = request.shape, dtype = request.dtype](std::span<const LocalArray> in,
                                                                                                  const detail::KernelContext& context) {
    LocalArray out(context.result_box.shape(), dtype);
    each_tile(context.result_box, sizes, [&](const Index& tile) {
      Index wanted;
      for (std::int64_t d = 0; d < tile.ndim(); ++d) wanted.push_back(detail::elements_of(axes[static_cast<std::size_t>(d)], tile[d], from[d]));
      std::vector<detail::WindowLine> lines;
      for (std::int64_t d = 0; d < tile.ndim(); ++d) {
        const auto& axis = axes[static_cast<std::size_t>(d)];
        lines.push_back({axis.size, axis.stride, tile[d].start * axis.stride - axis.before - wanted[d].start, tile[d].size()});
      }
      const auto region = rims.region(in, context.operand_boxes[0], context.result_box, whole, wanted);
      copy_values(run_windows(op, region, lines, dtype), out.box(detail::relative(tile, context.result_box)));
    });
    return out;
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

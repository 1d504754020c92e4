#include "meshwise/ops/stencil.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "array/negotiate.hpp"
#include "meshwise/array/device_put.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "ops/split_axis.hpp"
#include "ops/widened.hpp"

namespace meshwise {

namespace {

using Widths = std::vector<std::pair<std::int64_t, std::int64_t>>;
using Function = std::function<LocalArray(std::span<const LocalArray>)>;

std::uint64_t hash_fill(const Scalar& fill) {
  return detail::mix(std::bit_cast<std::uint64_t>(fill.real()), std::bit_cast<std::uint64_t>(fill.imag()));
}

void check_fill(const Scalar& fill, Dtype dtype) {
  alignas(16) std::byte value[16];
  fill.store(dtype, value);
}

void check_widths(const Array& x, const Widths& widths) {
  if (std::ssize(widths) != x.ndim())
    throw ShapeError(fmt::format("stencil: {} pairs of widths for {}, which has {} axes", widths.size(), type_string(x), x.ndim()));
  for (std::int64_t d = 0; d < x.ndim(); ++d)
    if (const auto [before, after] = widths[static_cast<std::size_t>(d)]; before < 0 || after < 0)
      throw ShapeError(fmt::format("stencil: widths ({}, {}) of axis {} are negative; a rim has 0 or more elements", before, after, d));
}

/// The arrays where the result will lie.
std::vector<Array> together(const std::vector<Array>& arrays) {
  if (arrays.empty()) throw ShapeError("stencil: no arrays; it takes at least one");
  for (const auto& x : arrays)
    if (x.shape() != arrays[0].shape())
      throw ShapeError(fmt::format("stencil: arrays have one shape, not {} and {}; broadcast_to makes them alike", type_string(arrays[0]),
                                   type_string(x)));
  if (arrays.size() == 1) return arrays;
  const std::vector<Operand> operands(arrays.begin(), arrays.end());
  detail::Request request;
  request.operation = "stencil";
  request.rule = LayoutRule::elementwise;
  request.operands = operands;
  request.shape = arrays[0].shape();
  request.dtype = arrays[0].dtype();
  const auto layout = detail::negotiate(request).layout;
  if (layout == nullptr) return arrays;
  std::vector<Array> out;
  for (const auto& x : arrays) out.push_back(device_put(x, layout->result));
  return out;
}

Array run_stencil(const std::vector<Array>& given, const Widths& widths, const Function& f, const StencilOptions& options) {
  for (const auto& x : given) check_widths(x, widths);
  if (!options.boundary)
    for (const auto& x : given) check_fill(options.fill, x.dtype());
  const auto arrays = together(given);
  std::uint64_t salt = options.boundary ? static_cast<std::uint64_t>(*options.boundary) + 1 : hash_fill(options.fill);
  for (const auto& [before, after] : widths)
    salt = detail::mix(salt, detail::mix(static_cast<std::uint64_t>(before), static_cast<std::uint64_t>(after)));
  std::vector<detail::Widened> wide;
  std::vector<Operand> operands;
  for (const auto& x : arrays) {
    std::vector<detail::Reach> reaches;
    for (std::int64_t d = 0; d < x.ndim(); ++d) {
      const auto [before, after] = widths[static_cast<std::size_t>(d)];
      reaches.push_back(detail::rim_reach(x.shape()[d], detail::split_of(x, d).parts, before, after));
    }
    wide.push_back(detail::widened("stencil", x, std::move(reaches), options.boundary, options.fill, salt));
    operands.emplace_back(wide.back().array);
  }
  detail::Request request;
  request.operation = "stencil";
  request.rule = LayoutRule::blockwise;
  request.operands = operands;
  request.shape = arrays[0].shape();
  request.dtype = options.dtype.value_or(arrays[0].dtype());
  request.salt = salt;
  request.kernel = [f, wide, whole = request.shape, dtype = request.dtype, like = type_string(arrays[0])](std::span<const LocalArray> in,
                                                                                       const detail::KernelContext& context) {
    const auto shape = context.result_box.shape();
    if (shape.num_elements() == 0) return LocalArray(shape, dtype);
    std::vector<LocalArray> blocks;
    for (std::size_t i = 0; i < in.size(); ++i)
      blocks.push_back(wide[i].block(in[i], context.operand_boxes[i], context.result_box, whole));
    auto out = f(blocks);
    if (out.shape() != shape)
      throw ShapeError(fmt::format("stencil: the function returned shape {} for the part {} of {}; the part has shape {}",
                                   to_string(out.shape()), to_string(context.result_box), like, to_string(shape)));
    if (out.dtype() != dtype)
      throw DtypeError(fmt::format("stencil: the function returned {} where {} is wanted; say the result's with .dtype", name(out.dtype()),
                                   name(dtype)));
    return out;
  };
  return detail::dispatch(request);
}

}  // namespace

Array shift(const Array& x, std::int64_t n, std::int64_t axis, const Scalar& fill) {
  const auto along = normalize_axis(axis, x.ndim(), "shift");
  check_fill(fill, x.dtype());
  const auto length = x.shape()[along];
  const auto by = std::clamp(n, -length, length);
  const Operand operands[] = {x};
  detail::Request request;
  request.operation = "shift";
  request.rule = LayoutRule::blockwise;
  request.operands = operands;
  request.shape = x.shape();
  request.dtype = x.dtype();
  request.attributes.axes = {along};
  request.salt = detail::mix(static_cast<std::uint64_t>(n), hash_fill(fill));
  detail::RegionMove move;
  move.extent = x.shape();
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    move.source.push_back({d, 0, 1});
    move.target.push_back({d, 0, 1});
  }
  move.extent[along] = length - std::abs(by);
  move.source[static_cast<std::size_t>(along)].start = std::max<std::int64_t>(-by, 0);
  move.target[static_cast<std::size_t>(along)].start = std::max<std::int64_t>(by, 0);
  return detail::dispatch_moves(request, {&move, 1}, fill);
}

Array stencil(const Array& x, const Widths& widths, const std::function<LocalArray(const LocalArray&)>& f, const StencilOptions& options) {
  return run_stencil(
      {x}, widths, [f](std::span<const LocalArray> blocks) { return f(blocks[0]); }, options);
}

Array stencil(const std::vector<Array>& arrays, const Widths& widths, const Function& f, const StencilOptions& options) {
  return run_stencil(arrays, widths, f, options);
}

}  // namespace meshwise

// Elements along an axis by arrays of indices.

#include "ops/take.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "array/dispatch.hpp"
#include "meshwise/base/error.hpp"
#include "ops/either.hpp"
#include "ops/index_plan.hpp"

namespace meshwise {

namespace {

template <class T>
T filler() {
  if constexpr (std::same_as<T, bool>)
    return true;
  else if constexpr (std::unsigned_integral<T>)
    return std::numeric_limits<T>::max();
  else if constexpr (std::signed_integral<T>)
    return std::numeric_limits<T>::min();
  else if constexpr (std::same_as<T, float16_t> || std::same_as<T, bfloat16_t>)
    return T(std::numeric_limits<float>::quiet_NaN());
  else if constexpr (std::floating_point<T>)
    return std::numeric_limits<T>::quiet_NaN();
  else
    return T(std::numeric_limits<typename T::value_type>::quiet_NaN(), std::numeric_limits<typename T::value_type>::quiet_NaN());
}

std::vector<std::int64_t> positions_of(const LocalArray& indices, std::int64_t n, IndexMode mode) {
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(indices.size()));
  visit(indices.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::integral<T>)
      for (const T i : indices.view<T>()) {
        const bool huge = std::unsigned_integral<T> &&
                          static_cast<std::uint64_t>(i) > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        out.push_back(detail::resolved_index(huge ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(i), n, mode));
      }
  });
  return out;
}

// Elements of an axis of which a block has the part `held`; those of other parts are zeros.
struct Gathered {
  std::int64_t axis, length;
  Range held;
  IndexMode mode;
};

LocalArray gather_along(const LocalArray& values, const LocalArray& indices, const Gathered& how, const Shape& shape) {
  const auto axis = how.axis;
  LocalArray out(shape, values.dtype());
  if (out.size() == 0) return out;
  const auto at = positions_of(indices, how.length, how.mode);
  // Both are read under the result's shape: where they have one element for many, again and again.
  const auto strides_in = [&](const LocalArray& x) {
    PerAxis<std::int64_t> strides;
    for (std::int64_t d = 0; d < shape.ndim(); ++d)
      strides.push_back(x.shape()[d] == 1 && d != axis ? 0 : x.strides()[static_cast<std::size_t>(d)]);
    return strides;
  };
  auto of_values = strides_in(values);
  const auto along = std::exchange(of_values[static_cast<std::size_t>(axis)], 0);
  PerAxis<std::int64_t> of_indices(static_cast<std::size_t>(shape.ndim()), 0);  // `at` is dense
  for (std::int64_t d = shape.ndim(), step = 1; d-- > 0; step *= indices.shape()[d])
    of_indices[static_cast<std::size_t>(d)] = indices.shape()[d] == 1 ? 0 : step;
  visit(values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* from = reinterpret_cast<const T*>(values.data());
    auto* to = reinterpret_cast<T*>(out.data());
    std::vector<std::int64_t> index(static_cast<std::size_t>(shape.ndim()), 0);
    for (std::int64_t k = 0; k < out.size(); ++k) {
      std::int64_t place = 0, number = 0;
      for (std::size_t d = 0; d < index.size(); ++d) {
        place += index[d] * of_values[d];
        number += index[d] * of_indices[d];
      }
      const auto i = at[static_cast<std::size_t>(number)];
      if (i < 0)
        to[k] = filler<T>();
      else
        to[k] = i < how.held.start || i >= how.held.stop ? T{} : from[place + (i - how.held.start) * along];
      for (auto d = shape.ndim(); d-- > 0;) {
        if (++index[static_cast<std::size_t>(d)] < shape[d]) break;
        index[static_cast<std::size_t>(d)] = 0;
      }
    }
  });
  return out;
}

LocalArray gather(const LocalArray& values, const LocalArray& indices, const Gathered& how, const Shape& shape) {
  const auto axis = how.axis;
  const auto x = values.contiguous();
  LocalArray out(shape, x.dtype());
  if (out.size() == 0) return out;
  std::int64_t outer = 1, inner = static_cast<std::int64_t>(itemsize(x.dtype()));
  for (std::int64_t d = 0; d < axis; ++d) outer *= x.shape()[d];
  for (std::int64_t d = axis + 1; d < x.ndim(); ++d) inner *= x.shape()[d];
  const auto n = x.shape()[axis];
  const auto at = positions_of(indices, how.length, how.mode);
  LocalArray blank(Shape{inner / static_cast<std::int64_t>(itemsize(x.dtype()))}, x.dtype());
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(reinterpret_cast<T*>(blank.data()), blank.size(), filler<T>());
  });
  auto* to = out.data();
  for (std::int64_t o = 0; o < outer; ++o)
    for (const auto i : at) {
      if (i >= 0 && (i < how.held.start || i >= how.held.stop))
        std::memset(to, 0, static_cast<std::size_t>(inner));
      else
        std::memcpy(to, i < 0 ? blank.data() : x.data() + (o * n + i - how.held.start) * inner, static_cast<std::size_t>(inner));
      to += inner;
    }
  return out;
}

void check_indices(std::string_view operation, const Array& x, const Array& indices, std::int64_t axis, IndexMode mode) {
  if (!is_integer(indices.dtype()))
    throw DtypeError(fmt::format("{}: argument indices is {}; indices are integers", operation, type_string(indices)));
  if (x.shape()[axis] == 0 && indices.size() > 0 && mode != IndexMode::fill)
    throw IndexError(fmt::format("{}: axis {} of {} is empty, {} indices point into it", operation, axis, type_string(x), indices.size()));
}

}  // namespace

Array detail::take_rows(const Array& x, const Array& indices, std::int64_t axis, IndexMode mode, LayoutRule rule,
                        const std::optional<PartitionSpec>& out_sharding) {
  const auto along = normalize_axis(axis, x.ndim(), "take");
  check_indices("take", x, indices, along, mode);
  Shape shape;
  for (std::int64_t d = 0; d < along; ++d) shape.push_back(x.shape()[d]);
  for (const auto length : indices.shape()) shape.push_back(length);
  for (std::int64_t d = along + 1; d < x.ndim(); ++d) shape.push_back(x.shape()[d]);
  const std::vector<Operand> operands{x, indices};
  detail::Request request;
  request.operation = "take";
  request.rule = rule;
  request.operands = operands;
  request.shape = shape;
  request.dtype = x.dtype();
  request.attributes.axes = {along};
  request.attributes.out_spec = out_sharding;
  request.salt = static_cast<std::uint64_t>(mode);
  request.kernel = [along, length = x.shape()[along], mode](std::span<const LocalArray> in, const detail::KernelContext& context) {
    return gather(in[0], in[1], {along, length, context.operand_boxes[0][along], mode}, context.result_box.shape());
  };
  request.reduction = detail::either(x.dtype());
  return detail::dispatch(request);
}

Array take(const Array& x, const Array& indices, std::int64_t axis, IndexMode mode, const std::optional<PartitionSpec>& out_sharding) {
  return detail::take_rows(x, indices, axis, mode, LayoutRule::take, out_sharding);
}

Array take_along_axis(const Array& x, const Array& indices, std::int64_t axis, IndexMode mode) {
  const auto along = normalize_axis(axis, x.ndim(), "take_along_axis");
  check_indices("take_along_axis", x, indices, along, mode);
  if (indices.ndim() != x.ndim())
    throw ShapeError(
        fmt::format("take_along_axis: argument indices is {}, and x is {}: both have the same axes", type_string(indices), type_string(x)));
  auto beside = x.shape(), of_indices = indices.shape();
  beside[along] = of_indices[along] = 1;
  auto shape = broadcast_shapes(beside, of_indices, "take_along_axis");
  shape[along] = indices.shape()[along];
  const Operand operands[] = {x, indices};
  detail::Request request;
  request.operation = "take_along_axis";
  request.rule = LayoutRule::take_along_axis;
  request.operands = operands;
  request.shape = shape;
  request.dtype = x.dtype();
  request.attributes.axes = {along};
  request.salt = static_cast<std::uint64_t>(mode);
  request.kernel = [along, length = x.shape()[along], mode](std::span<const LocalArray> in, const detail::KernelContext& context) {
    return gather_along(in[0], in[1], {along, length, context.operand_boxes[0][along], mode}, context.result_box.shape());
  };
  request.reduction = detail::either(x.dtype());
  return detail::dispatch(request);
}

}  // namespace meshwise

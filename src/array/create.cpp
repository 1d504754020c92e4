#include "meshwise/array/create.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "array/call.hpp"
#include "array/convert.hpp"
#include "array/generators.hpp"
#include "array/lockstep.hpp"
#include "array/place.hpp"
#include "array/rehearsal.hpp"
#include "meshwise/plan/propagation.hpp"
#include "meshwise/runtime/environment.hpp"
#include "meshwise/runtime/watch.hpp"

namespace meshwise {
namespace {

__extension__ using wide = __int128;

/// Every rank takes part: an uncommitted array is everywhere. The hash covers every argument.
Array created(std::string_view operation, detail::Recipe recipe) {
  if (!detail::rehearsing())
    detail::enter_world_call({operation, detail::mix(detail::hash_text(operation), recipe.hash()), recipe.dtype(), &recipe.shape});
  return detail::make_recipe_array(std::move(recipe));
}

void check_shape(const Shape& shape, const char* operation) {
  for (const auto n : shape)
    if (n < 0) throw ShapeError(fmt::format("{}: shape {} has a negative length", operation, to_string(shape)));
  shape.num_elements();  // throws where the product does not fit 64 bits
}

bool is_complex_literal(const Scalar& s) { return s.kind() == Scalar::Kind::complex; }

Dtype common_dtype(std::initializer_list<const Scalar*> literals) {
  Dtype common = (*literals.begin())->default_dtype();
  for (const auto* s : literals) {
    const auto next = s->default_dtype();
    // Whole numbers stay whole: uint64 beside int32 would promote to a float.
    common = is_integer(common) && is_integer(next) && (common == uint64 || next == uint64) ? uint64 : promote_types(common, next);
  }
  return common;
}

wide integer_of(const Scalar& s) { return s.is_unsigned() ? wide{static_cast<std::uint64_t>(s.integer())} : wide{s.integer()}; }

double real_of(const Scalar& s) { return s.kind() == Scalar::Kind::integer ? static_cast<double>(integer_of(s)) : s.real(); }

std::int64_t range_length(const Scalar& start, const Scalar& stop, const Scalar& step) {
  if (real_of(step) == 0) throw Error("arange: step is 0, no range ends; give a step above or below 0");
  const auto whole = [](const Scalar& s) { return s.kind() == Scalar::Kind::integer || s.kind() == Scalar::Kind::boolean; };
  if (whole(start) && whole(stop) && whole(step)) {
    const wide distance = integer_of(stop) - integer_of(start), by = integer_of(step);
    if (distance == 0 || (distance > 0) != (by > 0)) return 0;
    const wide count = (distance + by + (by > 0 ? -1 : 1)) / by;
    if (count <= std::numeric_limits<std::int64_t>::max()) return static_cast<std::int64_t>(count);
  } else {
    const double count = std::ceil((real_of(stop) - real_of(start)) / real_of(step));
    if (count < 0x1p63) return count > 0 ? static_cast<std::int64_t>(count) : 0;
  }
  throw ShapeError(fmt::format("arange: {} to {} by {} has no length below 2^63", real_of(start), real_of(stop), real_of(step)));
}

/// An integer range whose ends the dtype cannot hold would wrap silently.
void check_range_fits(const Scalar& start, const Scalar& step, std::int64_t count, Dtype dtype) {
  if (!is_integer(dtype) || count == 0 || start.kind() == Scalar::Kind::floating || step.kind() == Scalar::Kind::floating) return;
  const wide last = integer_of(start) + wide{count - 1} * integer_of(step);
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::integral<T>)
      for (const wide value : {integer_of(start), last})
        if (value < wide{std::numeric_limits<T>::min()} || value > wide{std::numeric_limits<T>::max()})
          throw DtypeError(fmt::format("arange: the range reaches {}, {} holds {} to {}; choose a wider dtype", static_cast<double>(value),
                                       name(dtype), +std::numeric_limits<T>::min(), +std::numeric_limits<T>::max()));
  });
}

Array like(std::string_view operation, const Array& x, const Scalar& value, Dtype dtype) {
  detail::check_alive(x, operation, "x");
  auto recipe = detail::constant_recipe(x.shape(), value, dtype);
  if (!x.committed()) return created(operation, std::move(recipe));
  const auto& sharding = x.sharding();
  const auto hash = detail::mix(detail::mix(detail::hash_text(operation), recipe.hash()), sharding.hash());
  if (detail::rehearsing()) {
    detail::HeardCall call;
    call.words.head = fmt::format("{}: {} -> {}", operation, type_string(x), type_string(dtype, x.shape(), sharding.spec()));
    call.operands = {x};
    call.replay = [=](std::span<const Operand> operands) { return like(operation, *operands[0].array(), value, dtype); };
    call.shape = x.shape();
    call.dtype = dtype;
    call.sharding = sharding;
    return detail::rehearse_call(std::move(call));
  }
  detail::enter_call({operation, hash, dtype, &x.shape()}, {&sharding.devices()});
  std::vector<detail::LocalShard> shards;
  detail::run_local_part(operation, [&] { shards = detail::place_uncommitted(detail::make_recipe_array(std::move(recipe)), sharding); });
  return detail::make_sharded_array(x.shape(), dtype, sharding, true, std::move(shards));
}

}  // namespace

Array zeros(const Shape& shape, Dtype dtype) {
  check_shape(shape, "zeros");
  return created("zeros", detail::constant_recipe(shape, 0, dtype));
}

Array empty(const Shape& shape, Dtype dtype) {
  check_shape(shape, "empty");
  return created("empty", detail::constant_recipe(shape, 0, dtype));
}

Array ones(const Shape& shape, Dtype dtype) {
  check_shape(shape, "ones");
  return created("ones", detail::constant_recipe(shape, 1, dtype));
}

Array full(const Shape& shape, const Scalar& value, std::optional<Dtype> dtype) {
  check_shape(shape, "full");
  return created("full", detail::constant_recipe(shape, value, dtype.value_or(value.default_dtype())));
}

Array arange(const Scalar& stop, std::optional<Dtype> dtype) {
  const Scalar zero(0);
  return arange(zero, stop, 1, dtype ? *dtype : common_dtype({&zero, &stop}));
}

Array arange(const Scalar& start, const Scalar& stop, Dtype dtype) { return arange(start, stop, 1, dtype); }

Array arange(const Scalar& start, const Scalar& stop, const Scalar& step, std::optional<Dtype> dtype) {
  const auto type = dtype ? *dtype : common_dtype({&start, &stop, &step});
  if (type == bool_ || is_complex_literal(start) || is_complex_literal(stop) || is_complex_literal(step))
    throw DtypeError(fmt::format("arange: start, stop and step are real numbers and the dtype is not bool (here: {})", name(type)));
  const auto count = range_length(start, stop, step);
  check_range_fits(start, step, count, type);
  return created("arange", detail::arange_recipe(start, step, count, type));
}

Array linspace(const Scalar& start, const Scalar& stop, std::int64_t num, bool endpoint, std::optional<Dtype> dtype) {
  if (num < 0) throw ShapeError(fmt::format("linspace: num is {}; the number of points is 0 or more", num));
  const auto inexact = promote_types(common_dtype({&start, &stop}), float32);
  const auto type = dtype.value_or(inexact);
  if (type == bool_ || (is_complex(inexact) && !is_complex(type)))
    throw DtypeError(fmt::format("linspace: points from {} to {} have no {} values", name(start.default_dtype()),
                                 name(stop.default_dtype()), name(type)));
  return created("linspace", detail::linspace_recipe(start, stop, num, endpoint, type));
}

Array eye(std::int64_t n, std::optional<std::int64_t> m, std::int64_t k, Dtype dtype) {
  check_shape({n, m.value_or(n)}, "eye");
  return created("eye", detail::eye_recipe(n, m.value_or(n), k, dtype));
}

Array empty_like(const Array& x, std::optional<Dtype> dtype) { return like("empty_like", x, 0, dtype.value_or(x.dtype())); }
Array zeros_like(const Array& x, std::optional<Dtype> dtype) { return like("zeros_like", x, 0, dtype.value_or(x.dtype())); }
Array ones_like(const Array& x, std::optional<Dtype> dtype) { return like("ones_like", x, 1, dtype.value_or(x.dtype())); }
Array full_like(const Array& x, const Scalar& value, std::optional<Dtype> dtype) {
  return like("full_like", x, value, dtype.value_or(x.dtype()));
}

Array asarray(const Scalar& value, std::optional<Dtype> dtype) {
  return created("asarray", detail::constant_recipe({}, value, dtype.value_or(value.default_dtype())));
}

Array asarray(const LocalArray& values, std::optional<Dtype> dtype) {
  const auto type = dtype.value_or(values.dtype());
  LocalArray own(values.shape(), type);
  if (type == values.dtype()) {
    copy_values(values, own);
  } else {
    const auto dense = values.contiguous();
    detail::convert_values(values.dtype(), dense.data(), type, own.data(), own.size());
  }
  const auto hash =
      detail::mix(detail::mix(detail::hash_text("asarray"), detail::hash_shape(values.shape())), static_cast<std::uint64_t>(type));
  if (!detail::rehearsing()) detail::enter_world_call({"asarray", hash, type, &values.shape()});
  // Host values are the same on every rank; only lockstep mode pays for looking at them.
  if (detail::in_lockstep()) detail::compare_values(own, "asarray");
  return detail::make_everywhere_array(std::move(own));
}

Array asarray(const Array& x, std::optional<Dtype> dtype) {
  detail::check_alive(x, "asarray", "x");
  return dtype && *dtype != x.dtype() ? x.astype(*dtype) : x;
}

void detail::check_list_length(std::int64_t axis, std::int64_t first, std::int64_t length) {
  if (length != first)
    throw ShapeError(fmt::format("asarray: the lists at depth {} have {} and {} elements; they must be equally long", axis, first, length));
}

namespace {

/// The shape of nested lists, read off their first elements; every list of one depth must be as long.
Shape nested_shape(const std::vector<NestedValues>& items) {
  Shape shape{static_cast<std::int64_t>(items.size())};
  if (items.empty() || items.front().value) return shape;
  for (const auto n : nested_shape(items.front().items)) shape.push_back(n);
  return shape;
}

void flatten(const std::vector<NestedValues>& items, const Shape& shape, std::int64_t depth, std::vector<Scalar>& out) {
  detail::check_list_length(depth, shape[depth], static_cast<std::int64_t>(items.size()));
  const bool innermost = depth + 1 == shape.ndim();
  for (const auto& item : items) {
    if (item.value.has_value() != innermost)
      throw ShapeError(fmt::format("asarray: at depth {} some elements are numbers and some are lists; all must be the same", depth));
    if (innermost)
      out.push_back(*item.value);
    else
      flatten(item.items, shape, depth + 1, out);
  }
}

}  // namespace

Array asarray(std::initializer_list<NestedValues> values, std::optional<Dtype> dtype) {
  const std::vector<NestedValues> items(values);
  const auto shape = nested_shape(items);
  std::vector<Scalar> literals;
  flatten(items, shape, 0, literals);
  Dtype common = literals.empty() ? float32 : literals.front().default_dtype();
  for (const auto& s : literals) common = promote_types(common, s.default_dtype());
  LocalArray out(shape, dtype.value_or(common));
  const auto size = itemsize(out.dtype());
  for (std::size_t i = 0; i < literals.size(); ++i) literals[i].store(out.dtype(), out.data() + i * size);
  return asarray(out);
}

}  // namespace meshwise

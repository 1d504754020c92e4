// Parts whose place is known when the call is made: the starts are read, then boxes move.

#include <fmt/format.h>

#include <algorithm>

#include "array/negotiate.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/ops/index.hpp"
#include "ops/index_plan.hpp"

namespace meshwise {

namespace {

using Numbers = std::vector<std::int64_t>;

void check_starts(const char* name, const Array& x, const std::vector<Operand>& starts, std::size_t sizes, std::string_view what) {
  const auto ndim = static_cast<std::size_t>(x.ndim());
  if (starts.size() != ndim || sizes != ndim)
    throw ShapeError(
        fmt::format("{}: {} starts and {} {} for {}, which has {} axes", name, starts.size(), sizes, what, type_string(x), ndim));
  for (std::size_t d = 0; d < ndim; ++d) {
    if (const auto* start = starts[d].array()) {
      if (start->ndim() != 0)
        throw ShapeError(fmt::format("{}: the start of axis {} is {}; a start has no axes", name, d, type_string(*start)));
      if (!is_integer(start->dtype()))
        throw DtypeError(fmt::format("{}: the start of axis {} is {}; starts are integers", name, d, type_string(*start)));
    } else if (starts[d].scalar()->kind() != Scalar::Kind::integer) {
      throw DtypeError(fmt::format("{}: the start of axis {} is a literal of {}; starts are integers", name, d,
                                   meshwise::name(starts[d].scalar()->default_dtype())));
    }
  }
}

/// The operands' arrays, the starts among them: they say where the result lives, too.
std::vector<Operand> with_starts(std::vector<Operand> operands, const std::vector<Operand>& starts) {
  for (const auto& start : starts)
    if (start.array() != nullptr) operands.push_back(start);
  return operands;
}

/// Where the part begins. What metadata forbids is refused before a value is read.
Numbers read_starts(const detail::Request& request, const Shape& shape, const std::vector<Operand>& starts, const Numbers& sizes) {
  if (std::ranges::any_of(starts, [](const Operand& start) { return start.array() != nullptr; })) detail::negotiate(request);
  Numbers out;
  for (std::size_t d = 0; d < starts.size(); ++d) {
    const auto n = shape[static_cast<std::int64_t>(d)];
    const auto* array = starts[d].array();
    const auto* literal = starts[d].scalar();
    auto start = array != nullptr ? detail::wide_indices(*array).item<std::int64_t>() : literal->integer();
    if (literal != nullptr && literal->is_unsigned() && start < 0) start = n;
    if (start < 0) start += n;
    out.push_back(std::clamp<std::int64_t>(start, 0, n - sizes[d]));
  }
  return out;
}

detail::RegionMove region(std::size_t operand, const Numbers& from, const Numbers& to, const Shape& extent) {
  detail::RegionMove move;
  move.operand = operand;
  move.extent = extent;
  for (std::int64_t d = 0; d < extent.ndim(); ++d) {
    move.source.push_back({d, from[static_cast<std::size_t>(d)], 1});
    move.target.push_back({d, to[static_cast<std::size_t>(d)], 1});
  }
  return move;
}

std::uint64_t hash_starts(const Numbers& starts) {
  std::uint64_t h = 0;
  for (const auto start : starts) h = detail::mix(h, static_cast<std::uint64_t>(start));
  return h;
}

}  // namespace

Array dynamic_slice(const Array& x, const std::vector<Operand>& starts, const Numbers& sizes) {
  check_starts("dynamic_slice", x, starts, sizes.size(), "sizes");
  for (std::int64_t d = 0; d < x.ndim(); ++d)
    if (const auto size = sizes[static_cast<std::size_t>(d)]; size < 0 || size > x.shape()[d])
      throw ShapeError(fmt::format("dynamic_slice: size {} of axis {} of {}, which has length {}", size, d, type_string(x), x.shape()[d]));
  const auto operands = with_starts({x}, starts);
  detail::Request request;
  request.operation = "dynamic_slice";
  request.rule = LayoutRule::dynamic_slice;
  request.operands = operands;
  request.shape = Shape(sizes);
  request.dtype = x.dtype();
  const auto from = read_starts(request, x.shape(), starts, sizes);
  request.salt = hash_starts(from);
  const auto move = region(0, from, Numbers(from.size(), 0), request.shape);
  return detail::dispatch_moves(request, {&move, 1});
}

Array dynamic_update_slice(const Array& x, const Array& update, const std::vector<Operand>& starts) {
  check_starts("dynamic_update_slice", x, starts, static_cast<std::size_t>(update.ndim()), "axes of the update");
  for (std::int64_t d = 0; d < x.ndim(); ++d)
    if (update.shape()[d] > x.shape()[d])
      throw ShapeError(
          fmt::format("dynamic_update_slice: the update {} is longer than {} on axis {}", type_string(update), type_string(x), d));
  if (update.dtype() != x.dtype())
    throw DtypeError(
        fmt::format("dynamic_update_slice: the update is {}, x is {}; astype makes them one dtype", type_string(update), type_string(x)));
  const auto operands = with_starts({x, update}, starts);
  detail::Request request;
  request.operation = "dynamic_update_slice";
  request.rule = LayoutRule::dynamic_update_slice;
  request.operands = operands;
  request.shape = x.shape();
  request.dtype = x.dtype();
  const Numbers sizes(update.shape().begin(), update.shape().end());
  const auto to = read_starts(request, x.shape(), starts, sizes);
  request.salt = hash_starts(to);
  // x's elements around the part: on each axis in turn what lies before it and after it, on the axes before that beside it.
  std::vector<detail::RegionMove> moves;
  const auto add = [&](std::size_t operand, const Numbers& from, const Numbers& at, const Shape& extent) {
    if (extent.num_elements() > 0) moves.push_back(region(operand, from, at, extent));
  };
  Numbers corner(to.size(), 0);
  auto extent = x.shape();
  for (std::int64_t d = 0; d < x.ndim() && update.size() > 0; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const auto before = to[i], after = to[i] + sizes[i];
    extent[d] = before;
    add(0, corner, corner, extent);
    extent[d] = x.shape()[d] - after;
    corner[i] = after;
    add(0, corner, corner, extent);
    extent[d] = sizes[i];
    corner[i] = before;
  }
  if (update.size() == 0)
    add(0, corner, corner, extent);
  else
    add(1, Numbers(to.size(), 0), to, update.shape());
  return detail::dispatch_moves(request, moves);
}

}  // namespace meshwise

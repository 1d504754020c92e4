#include "meshwise/ops/matrix_parts.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "array/dispatch.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/base/hash.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "meshwise/ops/reduce.hpp"
#include "ops/either.hpp"

namespace meshwise {

namespace {

void check_matrix(const char* name, const Array& x) {
  if (x.ndim() < 2) throw ShapeError(fmt::format("{}: argument x is {}; a matrix has two axes", name, type_string(x)));
}

// A block with zeros beside the triangle; its rows and columns are counted in the whole matrix.
LocalArray keep_triangle(const LocalArray& x, const Index& box, std::int64_t k, bool lower) {
  LocalArray out(x.shape(), x.dtype());
  copy_values(x, out);
  const auto rows = box[box.ndim() - 2], columns = box[box.ndim() - 1];
  const auto item = static_cast<std::int64_t>(itemsize(x.dtype()));
  auto* row = out.data();
  for (std::int64_t i = 0; i < out.size() / std::max<std::int64_t>(columns.size(), 1); ++i, row += columns.size() * item) {
    // The first column that goes in a lower triangle, the first that stays in an upper one.
    const auto edge = rows.start + i % rows.size() + k + (lower ? 1 : 0);
    const auto at = std::clamp<std::int64_t>(edge - columns.start, 0, columns.size());
    std::memset(lower ? row + at * item : row, 0, static_cast<std::size_t>((lower ? columns.size() - at : at) * item));
  }
  return out;
}

// For each row of a dense block its element on the diagonal, or zero.
LocalArray crossed_by_diagonal(const LocalArray& x, const Index& box, std::int64_t offset) {
  Shape shape;
  for (std::int64_t d = 0; d + 1 < x.ndim(); ++d) shape.push_back(x.shape()[d]);
  LocalArray out(shape, x.dtype());
  const auto rows = box[box.ndim() - 2], columns = box[box.ndim() - 1];
  const auto item = static_cast<std::int64_t>(itemsize(x.dtype()));
  std::memset(out.data(), 0, static_cast<std::size_t>(out.nbytes()));
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const auto column = rows.start + i % rows.size() + offset;
    if (column < columns.start || column >= columns.stop) continue;
    std::memcpy(out.data() + i * item, x.data() + (i * columns.size() + column - columns.start) * item, static_cast<std::size_t>(item));
  }
  return out;
}

Array triangle(const char* name, const Array& x, std::int64_t k, bool lower) {
  check_matrix(name, x);
  const Operand operands[] = {x};
  detail::Request request;
  request.operation = name;
  request.operands = operands;
  request.shape = x.shape();
  request.dtype = x.dtype();
  request.salt = detail::mix(static_cast<std::uint64_t>(k), lower);
  request.kernel = [=](std::span<const LocalArray> in, const detail::KernelContext& context) {
    return keep_triangle(in[0], context.result_box, k, lower);
  };
  return detail::dispatch(request);
}

}  // namespace

Array tril(const Array& x, std::int64_t k) { return triangle("tril", x, k, true); }
Array triu(const Array& x, std::int64_t k) { return triangle("triu", x, k, false); }

Array diagonal(const Array& x, std::int64_t offset) {
  check_matrix("diagonal", x);
  const auto m = x.shape()[x.ndim() - 2], n = x.shape()[x.ndim() - 1];
  const auto row = std::clamp<std::int64_t>(-offset, 0, m), column = std::clamp<std::int64_t>(offset, 0, n);
  const auto length = std::min(m - row, n - column);
  // A vector of all rows: on each device what of the diagonal crosses its block, and zeros.
  const Operand operands[] = {x};
  detail::Request request;
  request.operation = "diagonal";
  request.rule = LayoutRule::reduce;
  request.attributes.axes = {x.ndim() - 1};
  request.operands = operands;
  for (std::int64_t d = 0; d + 1 < x.ndim(); ++d) request.shape.push_back(x.shape()[d]);
  request.dtype = x.dtype();
  request.salt = detail::mix(0, static_cast<std::uint64_t>(offset));
  request.kernel = [=](std::span<const LocalArray> in, const detail::KernelContext& context) {
    return crossed_by_diagonal(in[0].contiguous(), context.operand_boxes[0], offset);
  };
  request.reduction = detail::either(x.dtype());
  return getitem(detail::dispatch(request), {ellipsis, Slice(row, row + length)});
}

Array trace(const Array& x, std::int64_t offset, std::optional<Dtype> dtype) {
  check_matrix("trace", x);
  return sum(diagonal(x, offset), {-1}, false, dtype);
}

std::vector<Array> meshgrid(const std::vector<Array>& vectors, std::string_view indexing) {
  if (indexing != "xy" && indexing != "ij") throw Error(fmt::format("meshgrid: indexing is \"xy\" or \"ij\", not \"{}\"", indexing));
  const auto count = std::ssize(vectors);
  const auto axis_of = [&](std::int64_t i) { return indexing == "xy" && count > 1 && i < 2 ? 1 - i : i; };
  Shape shape(std::vector<std::int64_t>(vectors.size(), 1));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto& x = vectors[static_cast<std::size_t>(i)];
    if (x.ndim() > 1) throw ShapeError(fmt::format("meshgrid: argument {} is {}; each is a vector", i, type_string(x)));
    shape[axis_of(i)] = x.size();
  }
  std::vector<Array> out;
  for (std::int64_t i = 0; i < count; ++i) {
    Shape own(std::vector<std::int64_t>(vectors.size(), 1));
    own[axis_of(i)] = shape[axis_of(i)];
    out.push_back(broadcast_to(reshape(vectors[static_cast<std::size_t>(i)], own), shape));
  }
  return out;
}

}  // namespace meshwise

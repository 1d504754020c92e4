// Where an array is not zero: the one shape that values decide, agreed by counting first.

#include <algorithm>

#include <fmt/format.h>

#include "array/dispatch.hpp"
#include "meshwise/base/error.hpp"
#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/index.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "meshwise/ops/reduce.hpp"
#include "ops/index_dtype.hpp"

namespace meshwise {

namespace {

// The numbers, in row-major order, of the first `count` true elements; then x's size.
LocalArray numbers_of_true(const LocalArray& truths, std::int64_t count) {
  const auto dense = truths.contiguous();
  LocalArray out(Shape{count}, int64);
  auto* to = reinterpret_cast<std::int64_t*>(out.data());
  auto* const end = to + count;
  for (std::int64_t i = 0; i < dense.size() && to != end; ++i)
    if (dense.data()[i] != std::byte{0}) *to++ = i;
  std::fill(to, end, dense.size());
  return out;
}

}  // namespace

std::vector<Array> nonzero(const Array& x, std::optional<std::int64_t> size, std::int64_t fill_value) {
  if (x.ndim() == 0) throw ShapeError(fmt::format("nonzero: argument x is {}, a scalar: it has no indices", type_string(x)));
  if (size && *size < 0) throw ShapeError(fmt::format("nonzero: size is {}, and is not negative", *size));
  const auto truths = x.astype(bool_);
  const auto count = size ? *size : count_nonzero(truths).astype(int64).item<std::int64_t>();
  const Operand operands[] = {truths};
  detail::Request request;
  request.operation = "nonzero";
  request.rule = LayoutRule::whole;
  request.operands = operands;
  request.shape = {count};
  request.dtype = int64;
  request.kernel = [=](std::span<const LocalArray> in, const detail::KernelContext&) { return numbers_of_true(in[0], count); };
  const auto numbers = detail::dispatch(request);
  std::vector<Array> indices;
  std::int64_t after = x.size();
  for (const auto length : x.shape()) {
    after = length == 0 ? 0 : after / length;
    const auto index = length == 0 ? numbers : remainder(floor_divide(numbers, after), length);
    const auto known = size ? where(less(numbers, x.size()), index, fill_value) : index;
    indices.push_back(known.astype(detail::index_dtype(length)));
  }
  return indices;
}

}  // namespace meshwise

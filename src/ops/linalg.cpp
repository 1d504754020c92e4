#include "meshwise/ops/linalg.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "meshwise/ops/elementwise.hpp"
#include "meshwise/ops/manipulate.hpp"
#include "ops/apply.hpp"
#include "ops/axes.hpp"
#include "ops/kernels/contract.hpp"
#include "ops/subscripts.hpp"

namespace meshwise {

namespace {

using detail::contract;
using detail::Letters;

void need_axes(const char* name, const Array& x, const Array& y, bool fine, const char* rule) {
  if (!fine)
    throw ShapeError(
        fmt::format("{}: {}; got x: {} and y: {}", name, rule, type_string(x.dtype(), x.shape()), type_string(y.dtype(), y.shape())));
}

}  // namespace

Array matmul(const Array& x, const Array& y, const std::optional<PartitionSpec>& out_sharding) {
  const auto nx = x.ndim(), ny = y.ndim();
  need_axes("matmul", x, y, nx > 0 && ny > 0, "both arguments need at least one axis (multiply() scales by a scalar)");
  Letters letters;
  const auto rows = letters.fresh(), inner = letters.fresh(), columns = letters.fresh();
  const auto batch = letters.fresh(std::max<std::int64_t>({nx - 2, ny - 2, 0}));
  const auto lead = [&](std::int64_t ndim) {
    return batch.substr(batch.size() - static_cast<std::size_t>(std::max<std::int64_t>(ndim - 2, 0)));
  };
  const auto of_x = lead(nx) + (nx > 1 ? rows : "") + inner, of_y = lead(ny) + inner + (ny > 1 ? columns : "");
  const Array operands[] = {x, y};
  const std::string terms[] = {of_x, of_y};
  return contract("matmul", letters, terms, batch + (nx > 1 ? rows : "") + (ny > 1 ? columns : ""), operands, out_sharding);
}

Array dot(const Array& x, const Array& y, const std::optional<PartitionSpec>& out_sharding) {
  if (x.ndim() == 0 || y.ndim() == 0) return multiply(x, y);
  Letters letters;
  const auto inner = letters.fresh(), kept_x = letters.fresh(x.ndim() - 1), kept_y = letters.fresh(y.ndim() - 1);
  auto of_y = kept_y;
  of_y.insert(of_y.size() - (y.ndim() > 1 ? 1 : 0), inner);
  const Array operands[] = {x, y};
  const std::string terms[] = {kept_x + inner, of_y};
  return contract("dot", letters, terms, kept_x + kept_y, operands, out_sharding);
}

Array tensordot(const Array& x, const Array& y, std::int64_t axes) {
  need_axes("tensordot", x, y, axes >= 0 && axes <= x.ndim() && axes <= y.ndim(),
            "the number of contracted axes is from 0 to either's number of axes");
  std::vector<std::int64_t> of_x, of_y;
  for (std::int64_t i = 0; i < axes; ++i) {
    of_x.push_back(x.ndim() - axes + i);
    of_y.push_back(i);
  }
  return tensordot(x, y, of_x, of_y);
}

Array tensordot(const Array& x, const Array& y, const std::vector<std::int64_t>& x_axes, const std::vector<std::int64_t>& y_axes) {
  need_axes("tensordot", x, y, x_axes.size() == y_axes.size(), "each contracted axis of x goes with one of y");
  const auto in_x = detail::distinct_axes(x_axes, x.ndim(), "tensordot"), in_y = detail::distinct_axes(y_axes, y.ndim(), "tensordot");
  Letters letters;
  auto of_x = letters.fresh(x.ndim()), of_y = letters.fresh(y.ndim());
  std::string result;
  for (std::size_t d = 0; d < of_x.size(); ++d)
    if (std::find(in_x.begin(), in_x.end(), static_cast<std::int64_t>(d)) == in_x.end()) result += of_x[d];
  for (std::size_t i = 0; i < in_x.size(); ++i) of_y[static_cast<std::size_t>(in_y[i])] = of_x[static_cast<std::size_t>(in_x[i])];
  for (std::size_t d = 0; d < of_y.size(); ++d)
    if (std::find(in_y.begin(), in_y.end(), static_cast<std::int64_t>(d)) == in_y.end()) result += of_y[d];
  for (std::size_t i = 0; i < in_x.size(); ++i)
    need_axes("tensordot", x, y, x.shape()[in_x[i]] == y.shape()[in_y[i]], "contracted axes have equal lengths");
  const Array operands[] = {x, y};
  const std::string terms[] = {of_x, of_y};
  return contract("tensordot", letters, terms, result, operands, {});
}

Array vecdot(const Array& x, const Array& y, std::int64_t axis) {
  need_axes("vecdot", x, y, x.ndim() > 0 && y.ndim() > 0, "both arguments need at least one axis");
  const auto in_x = static_cast<std::size_t>(normalize_axis(axis, x.ndim(), "vecdot")),
             in_y = static_cast<std::size_t>(normalize_axis(axis, y.ndim(), "vecdot"));
  need_axes("vecdot", x, y, x.shape()[static_cast<std::int64_t>(in_x)] == y.shape()[static_cast<std::int64_t>(in_y)],
            "the contracted axes have equal lengths");
  Letters letters;
  const auto inner = letters.fresh(), kept = letters.fresh(std::max(x.ndim(), y.ndim()) - 1);
  auto of_x = kept.substr(kept.size() - static_cast<std::size_t>(x.ndim() - 1)),
       of_y = kept.substr(kept.size() - static_cast<std::size_t>(y.ndim() - 1));
  of_x.insert(in_x, inner);
  of_y.insert(in_y, inner);
  const Array operands[] = {is_complex(x.dtype()) ? conj(x) : x, y};
  const std::string terms[] = {of_x, of_y};
  return contract("vecdot", letters, terms, kept, operands, {});
}

Array outer(const Array& x, const Array& y) {
  if (x.ndim() != 1 || y.ndim() != 1) return outer(x.ndim() == 1 ? x : reshape(x, {x.size()}), y.ndim() == 1 ? y : reshape(y, {y.size()}));
  const auto work = promote_types(x.dtype(), y.dtype());
  const Operand operands[] = {x, y};
  detail::Request request;
  request.operation = "outer";
  request.rule = LayoutRule::contract;
  request.attributes.subscripts = "i,j->ij";
  request.operands = operands;
  request.shape = {x.size(), y.size()};
  request.dtype = work;
  // Products alone, no sums: zeros keep their signs.
  request.kernel = [work](std::span<const LocalArray> inputs, const detail::KernelContext& context) {
    const LocalArray both[] = {inputs[0].reshaped({inputs[0].size(), 1}), inputs[1]};
    return detail::run_elementwise(detail::op::multiply, work, both, context.result_box.shape());
  };
  return detail::dispatch(request);
}

}  // namespace meshwise

#include "ops/tiles.hpp"

#include <algorithm>
#include <numeric>

#include "meshwise/runtime/partial_blocks.hpp"
#include "ops/axes.hpp"
#include "ops/kernels/reduce_op.hpp"

namespace meshwise::detail {

namespace {

constexpr std::int64_t tile_elements = std::int64_t{1} << 13;  // a few of them stay in the nearest caches

}  // namespace

void for_each_tile(const Shape& shape, FunctionRef<void(const Index&)> f) {
  if (shape.num_elements() == 0) return;
  std::int64_t inner = 1, axis = shape.ndim() - 1;
  while (axis > 0 && inner * shape[axis] <= tile_elements) inner *= shape[axis--];
  if (axis < 0) return f(Index{});
  const auto run = std::max<std::int64_t>(1, std::min(shape[axis], tile_elements / inner));
  auto box = Index::whole(shape);
  for (std::int64_t d = 0; d < axis; ++d) box[d] = {0, 1};
  while (true) {
    for (std::int64_t start = 0; start < shape[axis]; start += run) {
      box[axis] = {start, std::min(start + run, shape[axis])};
      f(box);
    }
    auto d = axis;
    while (d > 0 && box[d - 1].stop == shape[d - 1]) box[--d] = {0, 1};
    if (d == 0) return;
    ++box[d - 1].start;
    ++box[d - 1].stop;
  }
}

LocalArray beside(const LocalArray& x, const Index& box, const Shape& shape) {
  Index own;
  const auto lead = shape.ndim() - x.ndim();
  for (std::int64_t d = 0; d < x.ndim(); ++d) own.push_back(x.shape()[d] == shape[d + lead] ? box[d + lead] : Range{0, x.shape()[d]});
  return x.box(own);
}

namespace {

std::vector<LocalArray> all_beside(std::span<const LocalArray> inputs, const Index& box, const Shape& shape) {
  std::vector<LocalArray> tiles;
  tiles.reserve(inputs.size());
  for (const auto& x : inputs) tiles.push_back(beside(x, box, shape));
  return tiles;
}

/// Nobody else holds the block: this rank's array and the kernel's own handle are all there is.
bool is_ours_alone(const LocalArray& x, const Shape& shape, Dtype dtype) {
  return x.dtype() == dtype && x.shape() == shape && x.is_contiguous() && x.size() > 0 &&
         x.block()->size() == static_cast<std::size_t>(x.nbytes()) && x.block().use_count() <= 2 && is_only_here(*x.block());
}

LocalArray memory_for(std::span<const LocalArray> inputs, const Shape& shape, Dtype dtype) {
  for (const auto& x : inputs)
    if (is_ours_alone(x, shape, dtype)) return x;
  return {shape, dtype};
}

}  // namespace

LocalArray literal(double value, Dtype dtype) {
  LocalArray out(Shape{}, dtype);
  Scalar(value).store(dtype, out.data());
  return out;
}

LocalArray step(const ElementwiseOp& op, Dtype work, const LocalArray& x) { return run_elementwise(op, work, {&x, 1}, x.shape()); }

LocalArray step(const ElementwiseOp& op, Dtype work, const LocalArray& x, const LocalArray& y) {
  const LocalArray both[] = {x, y};
  return run_elementwise(op, work, both, broadcast_shapes(x.shape(), y.shape(), op.name));
}

Array map_tiles(const char* name, const std::vector<Array>& arrays, Dtype dtype, const TileProgram& program, Memory memory) {
  std::vector<Operand> operands(arrays.begin(), arrays.end());
  Request request;
  request.operation = name;
  request.rule = arrays.size() == 1 ? LayoutRule::unary : LayoutRule::elementwise;
  request.operands = operands;
  request.shape = arrays[0].shape();
  for (const auto& x : arrays) request.shape = broadcast_shapes(request.shape, x.shape(), name);
  request.dtype = dtype;
  if (memory == Memory::fresh) request.tiling = Tiling::map;  // a tile of an operand may be wanted once more
  request.kernel = [program, dtype, memory](std::span<const LocalArray> inputs, const KernelContext& context) {
    const auto shape = context.result_box.shape();
    // A tile is read before it is written.
    const auto out = memory == Memory::of_an_operand ? memory_for(inputs, shape, dtype) : LocalArray(shape, dtype);
    for_each_tile(shape, [&](const Index& box) { copy_values(program(all_beside(inputs, box, shape)), out.box(box)); });
    return out;
  };
  return dispatch(request);
}

Array sum_tiles(const char* name, const Array& x, const Array& other, const std::vector<std::int64_t>& axes, bool keepdims, Dtype values,
                Dtype dtype, const TileProgram& program) {
  auto reduced = axes;
  if (reduced.empty()) {
    reduced.resize(static_cast<std::size_t>(x.ndim()));
    std::iota(reduced.begin(), reduced.end(), 0);
  } else {
    reduced = distinct_axes(axes, x.ndim(), name);
  }
  const auto goes = [reduced](std::int64_t d) { return std::find(reduced.begin(), reduced.end(), d) != reduced.end(); };
  ReducePlan plan;
  plan.index_steps = PerAxis<std::int64_t>(static_cast<std::size_t>(x.ndim()), 1);
  const Operand operands[] = {x, other};
  Request request;
  request.operation = name;
  request.rule = LayoutRule::reduce;
  request.attributes.axes = reduced;
  request.attributes.keepdims = keepdims;
  request.operands = operands;
  request.dtype = dtype;
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    plan.reduced.push_back(goes(d));
    if (!goes(d) || keepdims) request.shape.push_back(goes(d) ? 1 : x.shape()[d]);
  }
  const auto& slot = op::sum.slot(values);
  request.kernel = [program, plan, goes, keepdims, &slot](std::span<const LocalArray> inputs, const KernelContext& context) {  // slot stands in a table
    const auto& whole = inputs[0].shape();
    LocalArray totals(context.result_box.shape(), slot.accumulator);
    slot.clear(totals.data(), totals.size());
    for_each_tile(whole, [&](const Index& box) {
      Index to;
      for (std::int64_t d = 0; d < whole.ndim(); ++d)
        if (!goes(d) || keepdims) to.push_back(goes(d) ? Range{0, 1} : box[d]);
      const auto here = totals.box(to);
      const auto more = run_reduce(op::sum, program(all_beside(inputs, box, whole)), plan, here.shape());
      auto sums = here.contiguous();
      slot.merge(sums.data(), more.data(), more.size());
      if (sums.data() != here.data()) copy_values(sums, here);
    });
    return totals;
  };
  Reduction reduction;
  reduction.combine = slot.merge;
  reduction.partials = slot.accumulator;
  reduction.finish = [dtype](const LocalArray& totals) { return finish_totals(totals, 1, dtype); };
  request.reduction = std::move(reduction);
  return dispatch(request);
}

}  // namespace meshwise::detail

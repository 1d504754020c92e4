// The runner of all elementwise operations: brings each operand, a tile at a time, to what the inner loop takes.

#include <algorithm>
#include <cstring>
#include <vector>

#include "array/convert.hpp"
#include "ops/kernels/elementwise_op.hpp"
#include "runtime/kernels/copy.hpp"

namespace meshwise::detail {

namespace {

// A tile and its conversions stay in the first-level cache.
constexpr std::int64_t tile_elements = 512;
constexpr std::size_t widest = 16;
// A tile is cut at the end of an operand's row where that leaves a run worth a loop of its own.
constexpr std::int64_t worthwhile_run = 64;

struct alignas(64) Buffer {
  std::byte bytes[static_cast<std::size_t>(tile_elements) * widest];
};

template <std::size_t Width>
void copy_strided(const std::byte* in, std::int64_t step, std::byte* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(out + i * static_cast<std::int64_t>(Width), in + i * step, Width);
}

/// `count` elements of `width` bytes, `step` bytes apart (0: one element again and again), made dense.
void gather_run(const std::byte* in, std::int64_t step, std::size_t width, std::byte* out, std::int64_t count) {
  if (step == static_cast<std::int64_t>(width)) {
    std::memcpy(out, in, static_cast<std::size_t>(count) * width);
    return;
  }
  switch (width) {
    case 1:
      return copy_strided<1>(in, step, out, count);
    case 2:
      return copy_strided<2>(in, step, out, count);
    case 4:
      return copy_strided<4>(in, step, out, count);
    case 8:
      return copy_strided<8>(in, step, out, count);
    default:
      return copy_strided<16>(in, step, out, count);
  }
}

/// Converts through `work`: an int32 beside a float16 array is that array's type before it is a float.
void convert_through(Dtype from, Dtype work, Dtype to, const std::byte* in, std::byte* out, std::int64_t count) {
  if (from == work || work == to) return convert_values(from, in, to, out, count);
  Buffer middle;
  convert_values(from, in, work, middle.bytes, count);
  convert_values(work, middle.bytes, to, out, count);
}

/// One operand, read in the result's row-major order.
class Source {
 public:
  Source(const LocalArray& x, const Shape& shape, Dtype work, Dtype compute)
      : from_(x.dtype()), work_(work), compute_(compute), width_(itemsize(from_)), compute_width_(itemsize(compute)), data_(x.data()) {
    dense_ = x.shape() == shape && x.is_contiguous();
    if (!dense_) fold_axes(x, shape);
    single_ = !dense_ && steps_.empty();
    if (single_ && from_ != compute_) {
      convert_through(from_, work_, compute_, data_, one_, 1);
      data_ = one_;
    }
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  bool single() const { return single_; }
  /// The whole operand as one lane: no tiles are needed.
  bool direct() const { return single_ || (dense_ && from_ == compute_); }
  OperandLane lane() const { return {data_, single_}; }
  /// Elements to the end of the current row, or `most`.
  std::int64_t run(std::int64_t most) const { return dense_ || single_ ? most : std::min(most, lengths_.back() - at_.back()); }

  /// The next `count` elements as a lane; `dense` where the loop takes no single lanes.
  OperandLane next(std::int64_t count, bool dense, Buffer& gathered, Buffer& converted) {
    if (single_) return dense ? repeat(data_, compute_width_, count, converted) : OperandLane{data_, true};
    const std::byte* from = data_;
    bool one = false;
    if (dense_) {
      data_ += static_cast<std::size_t>(count) * width_;
    } else if (lengths_.back() - at_.back() >= count && (steps_.back() == 0 || steps_.back() == static_cast<std::int64_t>(width_))) {
      from = data_ + offset_;
      one = steps_.back() == 0;
      advance(count);
    } else {
      gather(count, gathered.bytes);
      from = gathered.bytes;
    }
    if (from_ != compute_) {
      convert_through(from_, work_, compute_, from, converted.bytes, one ? 1 : count);
      from = converted.bytes;
    }
    if (!one) return {from, false};
    if (!dense) return {from, true};
    return repeat(from, compute_width_, count, gathered);
  }

 private:
  void fold_axes(const LocalArray& x, const Shape& shape) {
    const auto lead = shape.ndim() - x.ndim();
    for (std::int64_t axis = 0; axis < shape.ndim(); ++axis) {
      if (shape[axis] == 1) continue;
      const bool here = axis >= lead && x.shape()[axis - lead] != 1;
      const auto step = here ? x.strides()[static_cast<std::size_t>(axis - lead)] * static_cast<std::int64_t>(width_) : 0;
      if (!steps_.empty() && steps_.back() == step * shape[axis]) {
        steps_.back() = step;
        lengths_.back() *= shape[axis];
      } else {
        steps_.push_back(step);
        lengths_.push_back(shape[axis]);
      }
    }
    if (steps_.size() == 1 && steps_[0] == 0) steps_.clear();
    at_.assign(steps_.size(), 0);
  }

  static OperandLane repeat(const std::byte* from, std::size_t width, std::int64_t count, Buffer& into) {
    gather_run(from, 0, width, into.bytes, count);
    return {into.bytes, false};
  }

  void gather(std::int64_t count, std::byte* out) {
    while (count > 0) {
      const auto n = std::min(count, lengths_.back() - at_.back());
      gather_run(data_ + offset_, steps_.back(), width_, out, n);
      out += static_cast<std::size_t>(n) * width_;
      count -= n;
      advance(n);
    }
  }

  /// At most to the end of the row.
  void advance(std::int64_t count) {
    std::size_t axis = steps_.size() - 1;
    at_[axis] += count;
    offset_ += count * steps_[axis];
    while (at_[axis] == lengths_[axis]) {
      offset_ -= lengths_[axis] * steps_[axis];
      at_[axis] = 0;
      if (axis == 0) return;
      --axis;
      ++at_[axis];
      offset_ += steps_[axis];
    }
  }

  Dtype from_, work_, compute_;
  std::size_t width_, compute_width_;
  const std::byte* data_;
  bool dense_ = false, single_ = false;
  std::int64_t offset_ = 0;
  std::vector<std::int64_t> lengths_{}, steps_{}, at_{};
  alignas(16) std::byte one_[widest]{};
};

/// All operands are one element: computes it and repeats it.
void run_single(const ElementwiseOp& op, const ElementwiseSlot& slot, OperandLane* lanes, Dtype result, LocalArray& out) {
  alignas(16) std::byte computed[widest], stored[widest];
  for (int i = 0; i < op.arity; ++i) lanes[i].single = false;
  slot.loop(lanes, computed, 1);
  convert_values(slot.out, computed, result, stored, 1);
  gather_run(stored, 0, itemsize(result), out.data(), out.size());
}

/// Where tiles of results go: to their places, or, where those are more than the caches hold, past the caches from a tile that stays in the nearest.
class Target {
 public:
  explicit Target(LocalArray& out) : at_(out.data()), streams_(out.nbytes() >= streams_from()) {}
  ~Target() {
    if (streams_) kernels_.fence();
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  std::byte* tile() { return streams_ ? staged_.bytes : at_; }
  void filled(std::size_t bytes) {
    if (streams_) kernels_.tile_streamed(staged_.bytes, at_, static_cast<std::int64_t>(bytes));
    at_ += bytes;
  }

 private:
  std::byte* at_;
  const bool streams_;
  const CopyKernels& kernels_ = copy_kernels();
  Buffer staged_;
};

void run_tiles(const ElementwiseOp& op, const ElementwiseSlot& slot, std::span<Source* const> sources, Dtype result, LocalArray& out) {
  Buffer gathered[3], converted[3], results;
  const bool narrow = slot.out != result;
  const auto size = out.size();
  Target target(out);
  for (std::int64_t done = 0; done < size;) {
    std::int64_t count = std::min(tile_elements, size - done);
    for (const auto* source : sources)
      if (const auto run = source->run(count); run >= worthwhile_run) count = run;
    OperandLane lanes[3];
    bool all_single = !op.dense_lanes;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      lanes[i] = sources[i]->next(count, op.dense_lanes, gathered[i], converted[i]);
      all_single = all_single && lanes[i].single;
    }
    const auto bytes = static_cast<std::size_t>(count) * itemsize(result);
    if (all_single) {
      for (auto& lane : lanes) lane.single = false;
      alignas(16) std::byte computed[widest], stored[widest];
      slot.loop(lanes, computed, 1);
      convert_values(slot.out, computed, result, stored, 1);
      gather_run(stored, 0, itemsize(result), target.tile(), count);
    } else {
      slot.loop(lanes, narrow ? results.bytes : target.tile(), count);
      if (narrow) convert_values(slot.out, results.bytes, result, target.tile(), count);
    }
    target.filled(bytes);
    done += count;
  }
}

}  // namespace

Dtype work_dtype(WorkRule rule, Dtype promoted) {
  switch (rule) {
    case WorkRule::same:
      return promoted;
    case WorkRule::numeric:
      return promoted == Dtype::bool_ ? Dtype::int32 : promoted;
    default:
      break;
  }
  if (promoted == Dtype::int64 || promoted == Dtype::uint64) return Dtype::float64;
  return promoted == Dtype::bool_ || is_integer(promoted) ? Dtype::float32 : promoted;
}

LocalArray run_elementwise(const ElementwiseOp& op, Dtype work, std::span<const LocalArray> operands, const Shape& shape) {
  LocalArray out(shape, op.result_dtype(work));
  run_elementwise_into(op, work, operands, out);
  return out;
}

void run_elementwise_into(const ElementwiseOp& op, Dtype work, std::span<const LocalArray> operands, LocalArray& out) {
  auto slot = op.slot(work);
  if (const auto loop = vector_loop(op.vector_function, slot.compute)) slot.loop = loop;
  const auto result = out.dtype();
  const auto& shape = out.shape();
  if (out.size() == 0) return;
  const auto source = [&](std::size_t i) {
    const bool condition = op.condition && i == 0;
    return Source(operands[i], shape, condition ? Dtype::bool_ : work, condition ? Dtype::bool_ : slot.compute);
  };
  const auto run = [&](std::span<Source* const> sources) {
    bool direct = slot.out == result && out.nbytes() < streams_from(), single = true;
    for (const auto* s : sources) {
      direct = direct && s->direct() && !(op.dense_lanes && s->single());
      single = single && s->single();
    }
    OperandLane lanes[3];
    for (std::size_t i = 0; i < sources.size(); ++i) lanes[i] = sources[i]->lane();
    if (single)
      run_single(op, slot, lanes, result, out);
    else if (direct)
      slot.loop(lanes, out.data(), out.size());
    else
      run_tiles(op, slot, sources, result, out);
  };
  auto first = source(0);
  if (op.arity == 1) {
    Source* const sources[] = {&first};
    return run(sources);
  }
  auto second = source(1);
  if (op.arity == 2) {
    Source* const sources[] = {&first, &second};
    return run(sources);
  }
  auto third = source(2);
  Source* const sources[] = {&first, &second, &third};
  run(sources);
}

LocalArray run_astype(const LocalArray& x, Dtype dtype) {
  if (x.dtype() == dtype) return x;
  LocalArray out(x.shape(), dtype);
  if (x.size() == 0) return out;
  Source source(x, x.shape(), x.dtype(), x.dtype());
  if (source.direct() && !source.single()) {
    convert_values(x.dtype(), x.data(), dtype, out.data(), x.size());
    return out;
  }
  Buffer gathered, converted;
  auto* target = out.data();
  for (std::int64_t done = 0; done < out.size();) {
    const auto count = std::min(tile_elements, out.size() - done);
    const auto lane = source.next(count, true, gathered, converted);
    convert_values(x.dtype(), lane.data, dtype, target, count);
    target += static_cast<std::size_t>(count) * itemsize(dtype);
    done += count;
  }
  return out;
}

}  // namespace meshwise::detail

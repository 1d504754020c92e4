#include "ops/kernels/scan.hpp"

#include <algorithm>
#include <vector>

#include "array/convert.hpp"
#include "ops/kernels/elementwise_entry.hpp"

namespace meshwise::detail {

namespace {

template <class T>
struct AccumulatorOf {
  using type = T;
};
template <>
struct AccumulatorOf<float> {
  using type = double;
};
template <>
struct AccumulatorOf<std::complex<float>> {
  using type = std::complex<double>;
};

template <class A>
A combined(ScanOp op, A a, A b) {
  if constexpr (std::integral<A>)
    return static_cast<A>(op == ScanOp::sum ? wrapping(a) + wrapping(b) : wrapping(a) * wrapping(b));
  else
    return op == ScanOp::sum ? a + b : a * b;
}

// x as [outer, length, inner], dense.
struct Lines {
  std::int64_t outer = 1, length = 1, inner = 1;
  Lines(const Shape& shape, std::int64_t axis) : length(shape[axis]) {
    for (std::int64_t d = 0; d < axis; ++d) outer *= shape[d];
    for (std::int64_t d = axis + 1; d < shape.ndim(); ++d) inner *= shape[d];
  }
};

template <class A>
void clear(ScanOp op, A* totals, std::int64_t count) {
  std::fill_n(totals, count, op == ScanOp::sum ? A(0) : A(1));
}

template <class T>
void totals_of(ScanOp op, const T* x, const Lines& lines, typename AccumulatorOf<T>::type* totals) {
  using A = typename AccumulatorOf<T>::type;
  for (std::int64_t o = 0; o < lines.outer; ++o, totals += lines.inner) {
    clear(op, totals, lines.inner);
    for (std::int64_t i = 0; i < lines.length; ++i, x += lines.inner)
      for (std::int64_t j = 0; j < lines.inner; ++j) totals[j] = combined(op, totals[j], static_cast<A>(x[j]));
  }
}

template <class T>
void scan(ScanOp op, const T* x, const Lines& lines, T* out, const typename AccumulatorOf<T>::type* before, std::int64_t step,
          std::int64_t parts) {
  using A = typename AccumulatorOf<T>::type;
  std::vector<A> totals(static_cast<std::size_t>(lines.inner));
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    clear(op, totals.data(), lines.inner);
    for (std::int64_t part = 0; part < parts; ++part)
      for (std::int64_t j = 0; j < lines.inner; ++j)
        totals[static_cast<std::size_t>(j)] =
            combined(op, totals[static_cast<std::size_t>(j)], before[(o * step + part) * lines.inner + j]);
    for (std::int64_t i = 0; i < lines.length; ++i, x += lines.inner, out += lines.inner)
      for (std::int64_t j = 0; j < lines.inner; ++j) {
        auto& total = totals[static_cast<std::size_t>(j)];
        total = combined(op, total, static_cast<A>(x[j]));
        out[j] = static_cast<T>(total);
      }
  }
}

// The dtypes that have loops; the 16-bit floats come as float32.
template <class F>
void visit_scanned(Dtype dtype, F&& f) {
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::same_as<T, bool> && !std::same_as<T, float16_t> && !std::same_as<T, bfloat16_t>) f(T{});
  });
}

Dtype computed_in(Dtype result) { return itemsize(result) == 2 && is_floating(result) ? float32 : result; }

// x in the dtype of the loops, dense.
LocalArray prepared(const LocalArray& x, Dtype dtype) {
  auto dense = x.contiguous();
  if (x.dtype() == dtype) return dense;
  LocalArray out(x.shape(), dtype);
  convert_values(x.dtype(), dense.data(), dtype, out.data(), x.size());
  return out;
}

}  // namespace

Dtype scan_accumulator(Dtype result) {
  if (is_complex(result)) return complex128;
  return is_floating(result) ? float64 : result;
}

LocalArray run_totals(ScanOp op, const LocalArray& x, std::int64_t axis, Dtype result) {
  auto shape = x.shape();
  shape[axis] = 1;
  LocalArray out(shape, scan_accumulator(result));
  if (out.size() == 0) return out;
  const auto values = prepared(x, computed_in(result));
  visit_scanned(values.dtype(), [&]<class T>(T) {
    totals_of(op, reinterpret_cast<const T*>(values.data()), Lines(x.shape(), axis),
              reinterpret_cast<typename AccumulatorOf<T>::type*>(out.data()));
  });
  return out;
}

LocalArray run_scan(ScanOp op, const LocalArray& x, std::int64_t axis, Dtype result, const LocalArray* before, std::int64_t parts) {
  const auto values = prepared(x, computed_in(result));
  LocalArray out(x.shape(), values.dtype());
  if (out.size() == 0) return LocalArray(x.shape(), result);
  const auto totals = before != nullptr ? before->contiguous() : LocalArray();
  visit_scanned(values.dtype(), [&]<class T>(T) {
    scan(op, reinterpret_cast<const T*>(values.data()), Lines(x.shape(), axis), reinterpret_cast<T*>(out.data()),
         reinterpret_cast<const typename AccumulatorOf<T>::type*>(totals.data()), before != nullptr ? before->shape()[axis] : 0, parts);
  });
  return prepared(out, result);
}

}  // namespace meshwise::detail

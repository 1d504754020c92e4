#include "ops/kernels/windows.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "ops/kernels/elementwise_entry.hpp"
#include "ops/kernels/elementwise_op.hpp"

namespace meshwise::detail {

namespace {

struct Total {
  template <class A>
  static A empty() {
    return A(0);
  }
  template <class A>
  static A combined(A a, A x) {
    if constexpr (std::integral<A>)
      return static_cast<A>(wrapping(a) + wrapping(x));
    else
      return a + x;
  }
};

template <class A>
bool is_nan(A x) {
  if constexpr (std::floating_point<A>) return std::isnan(x);
  return false;
}

struct Largest {
  template <class A>
  static A empty() {
    return std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
  }
  template <class A>
  static A combined(A a, A x) {
    return x > a || is_nan(x) ? x : a;
  }
};

struct Smallest {
  template <class A>
  static A empty() {
    return std::numeric_limits<A>::has_infinity ? std::numeric_limits<A>::infinity() : std::numeric_limits<A>::max();
  }
  template <class A>
  static A combined(A a, A x) {
    return x < a || is_nan(x) ? x : a;
  }
};

// Which windows have an element k places after their beginning that there is.
Range windows_with(const WindowLine& line, std::int64_t k, std::int64_t n) {
  const auto at = line.first + k;
  const auto from = at >= 0 ? 0 : (-at + line.stride - 1) / line.stride;
  const auto to = at >= n ? 0 : (n - 1 - at) / line.stride + 1;
  return intersect({from, to}, {0, line.count});
}

// [outer, n, inner] to [outer, count, inner]. Every window takes its elements in ascending order, whichever loop is outside.
template <class R, class In, class A>
void reduce_line(const In* x, std::int64_t outer, std::int64_t n, std::int64_t inner, const WindowLine& line, A* out) {
  const auto take = [](A& a, const In& v) {
    if constexpr (is_half_v<In>)
      a = R::combined(a, static_cast<A>(static_cast<float>(v)));
    else
      a = R::combined(a, static_cast<A>(v));
  };
  for (std::int64_t o = 0; o < outer; ++o, x += n * inner, out += line.count * inner) {
    if (inner == 1) {
      std::fill_n(out, line.count, R::template empty<A>());
      for (std::int64_t k = 0; k < line.size; ++k) {
        const auto windows = windows_with(line, k, n);
        const auto* __restrict from = x + (line.first + k);
        auto* __restrict to = out;
        if (line.stride == 1)
          for (auto w = windows.start; w < windows.stop; ++w) take(to[w], from[w]);
        else
          for (auto w = windows.start; w < windows.stop; ++w) take(to[w], from[w * line.stride]);
      }
      continue;
    }
    for (std::int64_t w = 0; w < line.count; ++w) {
      const auto begin = w * line.stride + line.first;
      std::fill_n(out + w * inner, inner, R::template empty<A>());
      for (auto i = std::max<std::int64_t>(begin, 0); i < std::min(begin + line.size, n); ++i) {
        const auto* __restrict from = x + i * inner;
        auto* __restrict to = out + w * inner;
        for (std::int64_t j = 0; j < inner; ++j) take(to[j], from[j]);
      }
    }
  }
}

template <class R, class In, class A>
LocalArray reduce_axis(const LocalArray& x, std::int64_t axis, const WindowLine& line) {
  auto shape = x.shape();
  shape[axis] = line.count;
  LocalArray out(shape, dtype_of<A>());
  std::int64_t outer = 1, inner = 1;
  for (std::int64_t d = 0; d < axis; ++d) outer *= shape[d];
  for (std::int64_t d = axis + 1; d < x.ndim(); ++d) inner *= shape[d];
  if (out.size() > 0)
    reduce_line<R>(reinterpret_cast<const In*>(x.data()), outer, x.shape()[axis], inner, line, reinterpret_cast<A*>(out.data()));
  return out;
}

bool is_trivial(const WindowLine& line, std::int64_t n) { return line.size == 1 && line.stride == 1 && line.first == 0 && line.count == n; }

// In is what x has, A what totals are kept in.
template <class R, class In, class A>
LocalArray reduce_all(const LocalArray& x, std::span<const WindowLine> lines) {
  auto out = x;
  bool started = false;
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    const auto& line = lines[static_cast<std::size_t>(d)];
    if (is_trivial(line, x.shape()[d])) continue;
    out = started ? reduce_axis<R, A, A>(out, d, line) : reduce_axis<R, In, A>(out, d, line);
    started = true;
  }
  return started ? out : run_astype(x, dtype_of<A>()).contiguous();
}

template <class T>
struct Wide {
  using type = double;
};
template <class T>
struct Wide<std::complex<T>> {
  using type = std::complex<double>;
};

// How many elements each window has, dense; divides the totals by it.
template <class A>
void divide_by_counts(A* totals, const Shape& x, std::span<const WindowLine> lines) {
  std::vector<std::int64_t> counts{1};
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    const auto& line = lines[static_cast<std::size_t>(d)];
    std::vector<std::int64_t> more;
    more.reserve(counts.size() * static_cast<std::size_t>(line.count));
    for (const auto count : counts)
      for (std::int64_t w = 0; w < line.count; ++w) {
        const auto begin = w * line.stride + line.first;
        more.push_back(count * intersect({begin, begin + line.size}, {0, x[d]}).size());
      }
    counts = std::move(more);
  }
  for (std::size_t i = 0; i < counts.size(); ++i) totals[i] /= static_cast<double>(counts[i]);
}

template <class In>
LocalArray windows_of(WindowOp op, const LocalArray& x, std::span<const WindowLine> lines, Dtype result) {
  constexpr bool inexact = !std::integral<In>;
  using W = typename Wide<In>::type;
  if (op == WindowOp::mean) {
    auto totals = reduce_all<Total, In, W>(x, lines);
    divide_by_counts(reinterpret_cast<W*>(totals.data()), x.shape(), lines);
    return totals;
  }
  if (op == WindowOp::sum) {
    if constexpr (inexact)
      return reduce_all<Total, In, W>(x, lines);
    else if (result == int32)
      return reduce_all<Total, In, std::int32_t>(x, lines);
    else if (result == uint32)
      return reduce_all<Total, In, std::uint32_t>(x, lines);
    else
      return reduce_all<Total, In, std::conditional_t<std::unsigned_integral<In>, std::uint64_t, std::int64_t>>(x, lines);
  }
  if constexpr (!std::same_as<W, std::complex<double>>) {
    using A = std::conditional_t<is_half_v<In>, float, In>;
    return op == WindowOp::max ? reduce_all<Largest, In, A>(x, lines) : reduce_all<Smallest, In, A>(x, lines);
  } else {
    return x;  // complex numbers are refused before
  }
}

}  // namespace

LocalArray run_windows(WindowOp op, const LocalArray& x, std::span<const WindowLine> lines, Dtype result) {
  const auto dense = x.contiguous();
  return visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return run_astype(windows_of<T>(op, dense, lines, result), result).contiguous();
  });
}

}  // namespace meshwise::detail

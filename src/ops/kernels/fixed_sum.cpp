#include "ops/kernels/fixed_sum.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "ops/kernels/elementwise_op.hpp"

namespace meshwise::detail {

namespace {

__extension__ using wide = __int128;

// An element below 2^E is high * 2^(E - 52) + low * 2^(E - 86): int64 sums of so many elements hold both.
constexpr int high_bits = 52, low_bits = 34;
constexpr std::int64_t most_in_int64 = 1024;

struct FixedTotal {
  wide sum = 0;
  std::int32_t exponent = 0;  // of the largest magnitude
  std::uint32_t specials = 0;
  std::uint64_t begun = 0;  // has an exponent
};
static_assert(sizeof(FixedTotal) == fixed_sum_bytes);

constexpr std::uint32_t not_a_number = 1, plus_infinity = 2, minus_infinity = 4;

/// Sums on their way into a total.
struct Sums {
  // Two factors: one alone would overflow where all is tiny.
  double scale = 1, rest_of_scale = 1;
  std::int64_t high = 0, low = 0;
  std::uint32_t specials = 0;
  int exponent = 0;

  void begin(double largest) {
    *this = {};
    if (std::isfinite(largest) && largest != 0) std::frexp(largest, &exponent);
    const int power = high_bits - exponent, first = std::min(power, 1000);
    scale = std::ldexp(1.0, first);
    rest_of_scale = std::ldexp(1.0, power - first);
  }
  void take(double x) {
    if (!std::isfinite(x)) {
      specials |= std::isnan(x) ? not_a_number : x > 0 ? plus_infinity : minus_infinity;
      return;
    }
    const double scaled = x * scale * rest_of_scale;
    const auto whole = static_cast<std::int64_t>(scaled);
    high += whole;
    low += static_cast<std::int64_t>((scaled - static_cast<double>(whole)) * static_cast<double>(std::int64_t{1} << low_bits));
  }
  void give(FixedTotal& total) {
    total.sum += wide{high} * (wide{1} << low_bits) + low;
    total.exponent = exponent;
    total.begun = 1;
    total.specials |= specials;
    high = low = 0;
  }
};

struct Walk {
  std::vector<std::int64_t> lengths{}, steps{}, other_steps{};

  void push(std::int64_t length, std::int64_t step, std::int64_t other) {
    lengths.push_back(length);
    steps.push_back(step);
    other_steps.push_back(other);
  }
  /// f(offset, other offset) at every point, the last axis fastest.
  template <class F>
  void each(F&& f) const {
    std::int64_t count = 1;
    for (const auto n : lengths) count *= n;
    std::vector<std::int64_t> at(lengths.size(), 0);
    std::int64_t offset = 0, other = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      f(offset, other);
      for (auto d = lengths.size(); d-- > 0;) {
        offset += steps[d];
        other += other_steps[d];
        if (++at[d] < lengths[d]) break;
        offset -= lengths[d] * steps[d];
        other -= lengths[d] * other_steps[d];
        at[d] = 0;
      }
    }
  }
};

template <class T>
double number(T x) {
  if constexpr (std::floating_point<T>)
    return x;
  else
    return static_cast<float>(x);
}

template <class T>
void sum_lines(const LocalArray& x, const LocalArray& largest, const std::vector<bool>& reduced, std::int64_t part, std::int64_t parts,
               std::byte* out) {
  const auto* from = reinterpret_cast<const T*>(x.data()) + part;
  const auto* top = reinterpret_cast<const T*>(largest.data());
  Walk kept, gone;
  for (std::int64_t d = 0; d < x.ndim(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    (reduced[i] ? gone : kept).push(x.shape()[d], x.strides()[i] * parts, reduced[i] ? 0 : largest.strides()[i]);
  }
  // Short steps innermost: rows of totals where what is kept lies side by side.
  constexpr std::int64_t tile = 128;
  const bool rows = !kept.lengths.empty() && kept.lengths.back() >= 8 &&
                    (gone.steps.empty() || std::abs(kept.steps.back()) < std::abs(gone.steps.back()));
  const auto width = rows ? kept.lengths.back() : 1, step = rows ? kept.steps.back() : 0, top_step = rows ? kept.other_steps.back() : 0;
  if (rows) {
    kept.lengths.pop_back();
    kept.steps.pop_back();
    kept.other_steps.pop_back();
  }
  std::vector<Sums> sums(static_cast<std::size_t>(std::min(tile, width)));
  kept.each([&](std::int64_t offset, std::int64_t top_offset) {
    for (std::int64_t column = 0; column < width; column += tile) {
      const auto count = std::min(tile, width - column);
      for (std::int64_t j = 0; j < count; ++j) sums[static_cast<std::size_t>(j)].begin(number(top[top_offset + (column + j) * top_step]));
      const auto total = [&](std::int64_t j) -> FixedTotal& { return reinterpret_cast<FixedTotal*>(out)[(column + j) * parts]; };
      std::int64_t taken = 0;
      const auto flush = [&] {
        for (std::int64_t j = 0; j < count; ++j) sums[static_cast<std::size_t>(j)].give(total(j));
      };
      gone.each([&](std::int64_t along, std::int64_t) {
        const T* row = from + offset + along + column * step;
        for (std::int64_t j = 0; j < count; ++j) sums[static_cast<std::size_t>(j)].take(number(row[j * step]));
        if (++taken % most_in_int64 == 0) flush();
      });
      flush();
    }
    out += static_cast<std::size_t>(width * parts) * fixed_sum_bytes;
  });
}

double value_of(const FixedTotal& total) {
  const auto specials = total.specials;
  if ((specials & not_a_number) != 0 || (specials & (plus_infinity | minus_infinity)) == (plus_infinity | minus_infinity))
    return std::numeric_limits<double>::quiet_NaN();
  if ((specials & plus_infinity) != 0) return std::numeric_limits<double>::infinity();
  if ((specials & minus_infinity) != 0) return -std::numeric_limits<double>::infinity();
  return std::ldexp(static_cast<double>(total.sum), total.exponent - high_bits - low_bits);
}

}  // namespace

LocalArray run_fixed_sum(const LocalArray& x, const LocalArray& largest, const std::vector<bool>& reduced, const Shape& shape) {
  const std::int64_t parts = is_complex(x.dtype()) ? 2 : 1;
  Shape with_parts = shape;
  with_parts.push_back(2 * parts);
  LocalArray out(with_parts, Dtype::complex128);
  std::fill_n(reinterpret_cast<FixedTotal*>(out.data()), shape.num_elements() * parts, FixedTotal{});
  if (shape.num_elements() == 0) return out;
  const auto run = [&]<class T>(T) {
    for (std::int64_t part = 0; part < parts; ++part)
      sum_lines<T>(x, largest, reduced, part, parts, out.data() + static_cast<std::size_t>(part) * fixed_sum_bytes);
  };
  switch (x.dtype()) {
    case Dtype::float16:
      run(float16_t{});
      break;
    case Dtype::bfloat16:
      run(bfloat16_t{});
      break;
    case Dtype::float32:
    case Dtype::complex64:
      run(float{});
      break;
    default:
      run(double{});
      break;
  }
  return out;
}

void merge_fixed_sums(std::byte* totals, const std::byte* others, std::int64_t count) {
  auto* a = reinterpret_cast<FixedTotal*>(totals);
  const auto* b = reinterpret_cast<const FixedTotal*>(others);
  for (std::int64_t i = 0; i < count; ++i) {
    a[i].sum += b[i].sum;
    if (a[i].begun == 0) a[i].exponent = b[i].exponent;
    a[i].begun |= b[i].begun;
    a[i].specials |= b[i].specials;
  }
}

LocalArray finish_fixed_sums(const LocalArray& totals, const Shape& shape) {
  const auto parts = totals.shape()[totals.ndim() - 1] / 2;
  LocalArray out(shape, parts == 2 ? Dtype::complex128 : Dtype::float64);
  const auto* from = reinterpret_cast<const FixedTotal*>(totals.data());
  auto* to = reinterpret_cast<double*>(out.data());
  for (std::int64_t i = 0; i < shape.num_elements() * parts; ++i) to[i] = value_of(from[i]);
  return out;
}

}  // namespace meshwise::detail

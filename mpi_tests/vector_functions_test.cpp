// Functions computed a vector at a time, in every instruction set this CPU has: against the C library in more digits, and the same bits wherever an
// element stands; so for the loops and conversions that have a wide version, and results past the caches.
// ranks: 1
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <meshwise/meshwise.hpp>

#include "ops/kernels/elementwise_op.hpp"
#include "runtime/kernels/copy.hpp"

namespace {

using namespace meshwise::detail;
using meshwise::Dtype, meshwise::LocalArray, meshwise::Shape, meshwise::Index;

struct Unary {
  const ElementwiseOp& op;
  double (*in_double)(double);
  long double (*in_long_double)(long double);
};
#define UNARY(f)                                                                       \
  Unary {                                                                              \
    op::f, [](double x) { return std::f(x); }, [](long double x) { return std::f(x); } \
  }
const Unary unary_functions[] = {UNARY(exp),  UNARY(expm1), UNARY(log),  UNARY(log1p), UNARY(log2),  UNARY(log10),
                                 UNARY(sin),  UNARY(cos),   UNARY(tan),  UNARY(asin),  UNARY(acos),  UNARY(atan),
                                 UNARY(sinh), UNARY(cosh),  UNARY(tanh), UNARY(asinh), UNARY(acosh), UNARY(atanh)};
struct Binary {
  const ElementwiseOp& op;
  double (*in_double)(double, double);
  long double (*in_long_double)(long double, long double);
};
#define BINARY(f)                                                                                                     \
  Binary {                                                                                                            \
    op::f, [](double x, double y) { return std::f(x, y); }, [](long double x, long double y) { return std::f(x, y); } \
  }
const Binary binary_functions[] = {BINARY(atan2), BINARY(pow), BINARY(hypot)};

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Steps between values of a type; a wrong NaN, infinity or sign of zero is beyond all tolerance.
template <class T>
std::uint64_t steps(T got, T want) {
  constexpr std::uint64_t wrong = ~std::uint64_t{0};
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : wrong;
  if (got == want) return std::signbit(got) == std::signbit(want) ? 0 : wrong;
  if (std::isinf(got) || std::isinf(want) || std::signbit(got) != std::signbit(want)) return wrong;
  const auto a = std::bit_cast<Bits<T>>(got), b = std::bit_cast<Bits<T>>(want);
  return a > b ? a - b : b - a;
}

template <class T>
void add_specials(std::vector<T>& x) {
  using L = std::numeric_limits<T>;
  for (const double known : {0.0, 0.5, 1.0, 2.0, 3.0, 10.0, 88.72, 89.0, 103.9, 104.0, 709.7, 710.4, 745.1, 746.0, 1e10}) {
    x.push_back(static_cast<T>(known));
    x.push_back(static_cast<T>(-known));
  }
  for (const T v : {T{0}, L::denorm_min(), L::min(), L::min() / 2, L::epsilon(), T{1}, T{2}, L::max(), L::infinity()})
    for (const T near : {v, std::nextafter(v, T{0}), std::nextafter(v, L::infinity())}) {
      x.push_back(near);
      x.push_back(-near);
    }
  x.push_back(L::quiet_NaN());
  x.push_back(-L::quiet_NaN());
}

// All magnitudes, and more of those where functions bend.
template <class T>
std::vector<T> samples(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<T> x;
  add_specials(x);
  while (x.size() < count) {
    const auto any = std::bit_cast<T>(static_cast<Bits<T>>(random()));
    x.push_back(std::isnan(any) ? std::numeric_limits<T>::quiet_NaN() : any);  // C leaves signalling ones to the library
    x.push_back(static_cast<T>(unit(random)));
    x.push_back(static_cast<T>(1 + unit(random) / 8));
    x.push_back(static_cast<T>(100 * unit(random)));
    x.push_back(static_cast<T>(std::exp2(40 * unit(random))));
  }
  std::shuffle(x.begin(), x.end(), random);
  return x;
}

template <class T>
LocalArray array_of(const std::vector<T>& x) {
  return LocalArray::from<T>(x, Shape{static_cast<std::int64_t>(x.size())});
}
template <class T>
const T* values(const LocalArray& x) {
  return reinterpret_cast<const T*>(x.data());
}
LocalArray run(const ElementwiseOp& op, std::initializer_list<LocalArray> x, const Shape& shape) {
  return run_elementwise(op, x.begin()->dtype(), std::span(x.begin(), x.size()), shape);
}

class VectorFunctions : public ::testing::TestWithParam<KernelSet> {
 protected:
  void SetUp() override {
    if (GetParam() > best_kernel_set()) GTEST_SKIP() << "this CPU has no such instructions";
    choose_kernel_set(GetParam());
  }
  void TearDown() override { choose_kernel_set(before_); }
  const KernelSet before_ = kernel_set();
};
INSTANTIATE_TEST_SUITE_P(Sets, VectorFunctions, ::testing::Values(KernelSet::portable, KernelSet::avx2, KernelSet::avx512));

constexpr std::uint64_t allowed = 4;

TEST_P(VectorFunctions, Float32WithinFourUnits) {
  std::vector<float> x = samples<float>(100'000, 1);
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 20'011)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  const auto in = array_of(x);
  for (const auto& f : unary_functions) {
    const auto out = run(f.op, {in}, in.shape());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(steps(values<float>(out)[i], static_cast<float>(f.in_double(x[i]))), allowed) << f.op.name << " of " << x[i];
  }
  const auto y = samples<float>(x.size(), 2);
  const auto other = LocalArray::from<float>(std::span(y).first(x.size()), in.shape());
  for (const auto& f : binary_functions) {
    const auto out = run(f.op, {in, other}, in.shape());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(steps(values<float>(out)[i], static_cast<float>(f.in_double(x[i], y[i]))), allowed)
          << f.op.name << " of " << x[i] << ", " << y[i];
  }
}

TEST_P(VectorFunctions, Float64WithinFourUnits) {
  const auto x = samples<double>(100'000, 3), y = samples<double>(100'000, 4);
  const auto in = array_of(x), other = array_of(y);
  for (const auto& f : unary_functions) {
    const auto out = run(f.op, {in}, in.shape());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(steps(values<double>(out)[i], static_cast<double>(f.in_long_double(x[i]))), allowed) << f.op.name << " of " << x[i];
  }
  for (const auto& f : binary_functions) {
    const auto out = run(f.op, {in, other}, in.shape());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(steps(values<double>(out)[i], static_cast<double>(f.in_long_double(x[i], y[i]))), allowed)
          << f.op.name << " of " << x[i] << ", " << y[i];
  }
}

// All pairs of values that settle a result whatever the other is.
TEST_P(VectorFunctions, SpecialPairs) {
  const auto all_pairs = [](auto zero) {
    using T = decltype(zero);
    std::vector<T> values_once, x, y;
    add_specials(values_once);
    for (const T a : values_once)
      for (const T b : values_once) {
        x.push_back(a);
        y.push_back(b);
      }
    for (const auto& f : binary_functions) {
      const auto out = run(f.op, {array_of(x), array_of(y)}, Shape{static_cast<std::int64_t>(x.size())});
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_LE(steps(values<T>(out)[i], static_cast<T>(f.in_long_double(x[i], y[i]))), allowed)
            << f.op.name << " of " << x[i] << ", " << y[i];
    }
  };
  all_pairs(float{});
  all_pairs(double{});
}

bool same_bits(const std::byte* a, const std::byte* b, std::size_t bytes) { return std::memcmp(a, b, bytes) == 0; }

// Every start within a line, every length to 70, and every step.
template <class Call>
void check_windows(const LocalArray& x, const char* name, Call&& call) {
  const auto whole = call(x);
  const auto width = meshwise::itemsize(whole.dtype());
  for (std::int64_t start = 0; start < 17; ++start)
    for (std::int64_t length = 0; length <= 70; ++length) {
      const auto part = call(x.box(Index({{start, start + length}})));
      ASSERT_TRUE(same_bits(part.data(), whole.data() + static_cast<std::size_t>(start) * width, static_cast<std::size_t>(length) * width))
          << name << " of " << length << " from " << start;
    }
  for (std::int64_t step = 2; step < 6; ++step) {
    const auto rows = x.reshaped(Shape{x.size() / step, step}).box(Index({{0, x.size() / step}, {1, 2}}));
    const auto part = call(rows);
    for (std::int64_t i = 0; i < part.size(); ++i)
      ASSERT_TRUE(same_bits(part.data() + static_cast<std::size_t>(i) * width,
                            whole.data() + static_cast<std::size_t>(1 + i * step) * width, width))
          << name << ", step " << step;
  }
}

TEST_P(VectorFunctions, SameBitsWhereverAnElementStands) {
  for (const auto dtype : {Dtype::float32, Dtype::float64, Dtype::float16, Dtype::bfloat16}) {
    const auto many = samples<float>(300, 5);
    const auto x = run_astype(LocalArray::from<float>(std::span(many).first(240), Shape{240}), dtype);
    for (const auto& f : unary_functions) check_windows(x, f.op.name, [&](const LocalArray& at) { return run(f.op, {at}, at.shape()); });
    for (const auto& f : binary_functions) {
      check_windows(x, f.op.name, [&](const LocalArray& at) { return run(f.op, {at, at}, at.shape()); });
      const auto one = x.box(Index({{7, 8}}));
      check_windows(x, f.op.name, [&](const LocalArray& at) { return run(f.op, {at, one.reshaped(Shape{})}, at.shape()); });
      check_windows(x, f.op.name, [&](const LocalArray& at) { return run(f.op, {one.reshaped(Shape{}), at}, at.shape()); });
    }
    for (const auto* op : {&op::add, &op::multiply, &op::sqrt, &op::floor, &op::less})
      check_windows(x, op->name, [&](const LocalArray& at) {
        return op->arity == 1 ? run(*op, {at}, at.shape()) : run(*op, {at, at}, at.shape());
      });
    for (const auto to : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::int32})
      check_windows(x, "astype", [&](const LocalArray& at) { return run_astype(at, to).contiguous(); });
  }
}

TEST_P(VectorFunctions, PastTheCachesTheSameBits) {
  const auto before = streams_from();
  const auto many = samples<float>(6000, 6);
  for (const auto dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::int8})
    for (const std::int64_t size : {1, 511, 512, 513, 4000, 5001}) {
      const auto x = run_astype(LocalArray::from<float>(std::span(many).first(5500), Shape{5500}), dtype).box(Index({{3, 3 + size}}));
      const auto y = run_astype(LocalArray::from<float>(std::span(many).last(5500), Shape{5500}), dtype).box(Index({{1, 1 + size}}));
      for (const auto* op : {&op::add, &op::less, &op::exp}) {
        if (!op->slot(dtype).loop) continue;
        const auto call = [&] { return op->arity == 1 ? run(*op, {x}, x.shape()) : run(*op, {x, y}, x.shape()); };
        set_streams_from(std::numeric_limits<std::int64_t>::max());
        const auto cached = call();
        set_streams_from(0);
        const auto streamed = call();
        set_streams_from(before);
        ASSERT_TRUE(same_bits(cached.data(), streamed.data(), static_cast<std::size_t>(cached.nbytes()))) << op->name << " of " << size;
      }
    }
}

// Every 16-bit pattern and its neighbours between: the instructions round as half.hpp does.
TEST(Halves, InstructionsAgreeWithTheFormula) {
  std::vector<float> x;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (const std::uint32_t low : {0x0000u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u})
      x.push_back(std::bit_cast<float>(high << 16 | low));
  const auto in = array_of(x);
  const auto halves = run_astype(in, Dtype::float16), brains = run_astype(in, Dtype::bfloat16), back = run_astype(halves, Dtype::float32);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(values<std::uint16_t>(halves)[i], meshwise::float16_t(x[i]).bits) << x[i];
    ASSERT_EQ(values<std::uint16_t>(brains)[i],
              std::isnan(x[i])
                  ? meshwise::bfloat16_t(x[i]).bits
                  : static_cast<std::uint16_t>(
                        (std::bit_cast<std::uint32_t>(x[i]) + 0x7fffu + (std::bit_cast<std::uint32_t>(x[i]) >> 16 & 1u)) >> 16));
    ASSERT_EQ(steps(values<float>(back)[i], static_cast<float>(meshwise::float16_t(x[i]))), 0u) << x[i];
  }
}

}  // namespace

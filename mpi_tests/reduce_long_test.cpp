// Reductions of rows and runs longer than the loops take at once, and just about as long, against plain loops.
// ranks: 1 2
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include <meshwise/meshwise.hpp>

namespace mw = meshwise;
using mw::Array, mw::Dtype, mw::Shape;

namespace {

// Small integers, exact in every type and total; where asked for, zeros of both signs, infinities and NaN, whose places in the order are their own.
std::vector<double> some_values(std::int64_t count, Dtype dtype, bool specials, unsigned seed) {
  std::mt19937 random(seed);
  const bool negative = mw::kind(dtype) == mw::DtypeKind::signed_integer || mw::is_floating(dtype);
  std::vector<double> out;
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double rare[] = {0.0, -0.0, infinity, -infinity, nan, -nan};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(random() % 100) - (negative ? 60 : 0);
    out.push_back(specials && random() % 200 == 0 ? rare[random() % 6] : value);
  }
  return out;
}

struct Wanted {
  double sum = 0, largest = 0, smallest = 0;
  std::int64_t nonzero = 0, first_largest = -1, first_smallest = -1;
};

// NaN is the largest and the smallest; of equals the first counts.
Wanted reduced(const std::vector<double>& x) {
  Wanted w;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    w.sum += v;
    w.nonzero += v != 0 || std::isnan(v) ? 1 : 0;
    const auto at = static_cast<std::int64_t>(i);
    if (i == 0 || v > w.largest || (std::isnan(v) && !std::isnan(w.largest))) {
      w.largest = v;
      w.first_largest = at;
    }
    if (i == 0 || v < w.smallest || (std::isnan(v) && !std::isnan(w.smallest))) {
      w.smallest = v;
      w.first_smallest = at;
    }
  }
  return w;
}

std::vector<double> numbers(const Array& x) {
  const auto whole = mw::device_get(mw::astype(x, mw::float64));
  return {whole.view<double>().begin(), whole.view<double>().end()};
}

bool alike(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void check(const Shape& shape, std::int64_t axis, Dtype dtype, bool specials, bool cut) {
  const auto raw = some_values(shape.num_elements(), dtype, specials, static_cast<unsigned>(shape.num_elements() + axis));
  auto x = mw::astype(mw::asarray(mw::LocalArray::from<double>(raw, shape)), dtype);
  if (cut) {
    x = mw::device_put(x, mw::NamedSharding(mw::make_mesh({mw::devices().size()}, {"x"}), axis == 0 ? mw::P("x") : mw::P(nullptr, "x")));
  }
  const auto sums = numbers(mw::sum(x, {axis})), means = numbers(mw::mean(x, {axis})), largest = numbers(mw::max(x, {axis})),
             smallest = numbers(mw::min(x, {axis})), first_largest = numbers(mw::argmax(x, axis)),
             first_smallest = numbers(mw::argmin(x, axis)), nonzero = numbers(mw::count_nonzero(x, {axis})),
             any = numbers(mw::any(x, {axis})), all = numbers(mw::all(x, {axis}));
  std::int64_t before = 1, after = 1;
  for (std::int64_t d = 0; d < shape.ndim(); ++d) (d < axis ? before : after) *= d == axis ? 1 : shape[d];
  for (std::int64_t b = 0; b < before; ++b)
    for (std::int64_t a = 0; a < after; ++a) {
      std::vector<double> line;
      for (std::int64_t i = 0; i < shape[axis]; ++i) line.push_back(raw[static_cast<std::size_t>((b * shape[axis] + i) * after + a)]);
      const auto want = reduced(line);
      const auto at = static_cast<std::size_t>(b * after + a);
      const auto where = [&] {
        return std::string(mw::name(dtype)) + to_string(shape) + ", axis " + std::to_string(axis) + ", result " + std::to_string(at);
      };
      ASSERT_TRUE(alike(largest[at], want.largest)) << where();
      ASSERT_TRUE(alike(smallest[at], want.smallest)) << where();
      ASSERT_EQ(static_cast<std::int64_t>(first_largest[at]), want.first_largest) << where();
      ASSERT_EQ(static_cast<std::int64_t>(first_smallest[at]), want.first_smallest) << where();
      ASSERT_EQ(static_cast<std::int64_t>(nonzero[at]), want.nonzero) << where();
      ASSERT_EQ(any[at] != 0, want.nonzero > 0) << where();
      ASSERT_EQ(all[at] != 0, want.nonzero == shape[axis]) << where();
      if (mw::itemsize(dtype) == 2 && mw::is_floating(dtype)) continue;  // rounds
      ASSERT_TRUE(alike(sums[at], want.sum)) << where();
      ASSERT_NEAR(specials ? 0 : means[at], specials ? 0 : want.sum / static_cast<double>(shape[axis]), 1e-4) << where();
    }
}

TEST(ReduceLong, RowsAndRunsOfEveryLengthAndType) {
  const Shape shapes[] = {{247, 5},  {248, 9},  {249, 4100}, {500, 64},   {7, 1500},   {3, 2049},
                          {130, 64}, {1025, 2}, {2, 1024},   {3, 251, 9}, {2, 4, 4097}};
  for (const auto& shape : shapes)
    for (const auto dtype :
         {mw::int8, mw::uint8, mw::int16, mw::int32, mw::int64, mw::uint64, mw::float16, mw::bfloat16, mw::float32, mw::float64})
      for (std::int64_t axis = 0; axis < shape.ndim(); ++axis)
        for (const bool specials : {false, true})
          if (!specials || mw::is_floating(dtype)) check(shape, axis, dtype, specials, axis < 2 && shape[axis] % 2 == 0);
}

}  // namespace

// ranks: 1 3
// devices_per_rank: 8
// The functions of the Python Array API 2024.12, each by its name there and with its arguments, on arrays that are cut: a name that is missing does not compile.
// (std is stddev; from_dlpack and __array_namespace_info__ have no counterpart.)
#include <gtest/gtest.h>

#include "support/exact.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape, mw::result_type;

namespace {

Array cut(const Array& x) {
  static const auto mesh = mw::make_mesh({mw::devices().size()}, {"x"});
  return mw::device_put(x, NamedSharding(mesh, x.ndim() > 0 ? P("x") : P()));
}

Array line() { return cut(mw::arange(1, 7).astype(mw::float32)); }
Array square() { return cut(mw::asarray({{4.0, 1.0, 0.0}, {1.0, 3.0, 1.0}, {0.0, 1.0, 2.0}})); }

TEST(ArrayApi, Creation) {
  EXPECT_EQ(mw::arange(0, 6, 2).shape(), Shape({3}));
  EXPECT_EQ(mw::asarray({1, 2}).dtype(), mw::int32);
  EXPECT_EQ(mw::empty({2, 3}, mw::int8).dtype(), mw::int8);
  EXPECT_EQ(mw::empty({2, 3}).shape(), Shape({2, 3}));
  const auto like = mw::empty_like(line());
  EXPECT_TRUE(like.sharding() == line().sharding());
  EXPECT_TRUE(like.committed());
  EXPECT_EQ(mw::empty_like(line(), mw::int16).dtype(), mw::int16);
  EXPECT_THROW(mw::empty({-1}), mw::ShapeError);
  for (const auto& x : {mw::eye(3), mw::full({3, 3}, 2), mw::full_like(square(), 1), mw::ones({3, 3}), mw::ones_like(square()),
                        mw::tril(square()), mw::triu(square()), mw::zeros({3, 3}), mw::zeros_like(square())})
    EXPECT_EQ(x.shape(), Shape({3, 3}));
  EXPECT_EQ(mw::linspace(0, 1, 5).shape(), Shape({5}));
  EXPECT_EQ(mw::meshgrid({line(), line()}, "ij").size(), 2u);
}

TEST(ArrayApi, DataTypes) {
  EXPECT_EQ(mw::astype(line(), mw::int8).dtype(), mw::int8);
  EXPECT_TRUE(mw::can_cast(line(), mw::float64) && mw::can_cast(mw::int8, mw::int16) && !mw::can_cast(mw::float64, mw::int8));
  EXPECT_EQ(mw::finfo(mw::float32).bits, 32);
  EXPECT_EQ(mw::iinfo(mw::int8).max, 127u);
  EXPECT_TRUE(mw::isdtype(mw::int8, "integral") && mw::isdtype(mw::int8, mw::int8) && mw::isdtype(mw::int8, {"bool", "signed integer"}));
  EXPECT_FALSE(mw::isdtype(mw::int8, {"bool", "real floating"}));
  EXPECT_EQ(result_type(mw::int8, mw::int16), mw::int16);
  EXPECT_EQ(result_type(line(), mw::float64), mw::float64);
  EXPECT_EQ(result_type(mw::int8, 1), mw::int8);
  EXPECT_EQ(result_type(1, mw::int8, 2.5), mw::float32);
  EXPECT_EQ(result_type(mw::float16, 2.5), mw::float16);
  EXPECT_EQ(result_type(true), mw::bool_);
  EXPECT_EQ(result_type(line(), std::complex<double>(0, 1)), mw::complex64);
  EXPECT_EQ(result_type({mw::uint8, line(), 3}), mw::float32);
  // As the operation has it.
  EXPECT_EQ(result_type(mw::ones({2}, mw::int64), 2.5), (mw::ones({2}, mw::int64) + 2.5).dtype());
}

TEST(ArrayApi, Elementwise) {
  const auto x = line(), y = line();
  const auto n = x.astype(mw::int32);
  for (const auto f :
       {mw::acosh, mw::asinh,       mw::atan,    mw::ceil,     mw::cos,      mw::cosh,       mw::exp,   mw::expm1, mw::floor,    mw::log,
        mw::log1p, mw::log2,        mw::log10,   mw::negative, mw::positive, mw::reciprocal, mw::round, mw::sign,  mw::sin,      mw::sinh,
        mw::sqrt,  mw::square,      mw::tan,     mw::tanh,     mw::trunc,    mw::conj,       mw::real,  mw::abs,   mw::isfinite, mw::isinf,
        mw::isnan, mw::logical_not, mw::signbit, mw::acos,     mw::asin,     mw::atanh,      mw::imag})
    EXPECT_EQ(f(x).shape(), x.shape());
  for (const auto f :
       {mw::add,     mw::atan2,    mw::copysign,   mw::divide,    mw::equal,       mw::floor_divide, mw::greater,     mw::greater_equal,
        mw::hypot,   mw::less,     mw::less_equal, mw::logaddexp, mw::logical_and, mw::logical_or,   mw::logical_xor, mw::maximum,
        mw::minimum, mw::multiply, mw::nextafter,  mw::not_equal, mw::pow,         mw::remainder,    mw::subtract})
    EXPECT_EQ(f(x, y).shape(), x.shape());
  for (const auto f : {mw::bitwise_and, mw::bitwise_left_shift, mw::bitwise_or, mw::bitwise_right_shift, mw::bitwise_xor})
    EXPECT_EQ(f(n, n).dtype(), mw::int32);
  EXPECT_EQ(mw::bitwise_invert(n).dtype(), mw::int32);
  EXPECT_EQ(mw::max(mw::clip(x, 2, 4)).item<float>(), 4);
  EXPECT_EQ(mw::max(mw::clip(x)).item<float>(), 6);
  EXPECT_EQ(mw::min(mw::clip(x, 3)).item<float>(), 3);
}

TEST(ArrayApi, IndexingSearchingSetsSorting) {
  const auto x = line();
  const auto at = mw::asarray({5, 0});
  EXPECT_EQ(mw::sum(mw::take(x, at, 0)).item<float>(), 7);
  EXPECT_EQ(mw::sum(mw::take_along_axis(x, at, 0)).item<float>(), 7);
  EXPECT_EQ(mw::argmax(x).item<std::int32_t>(), 5);
  EXPECT_EQ(mw::argmin(x, 0, true).shape(), Shape({1}));
  EXPECT_EQ(mw::count_nonzero(x - 1).item<std::int32_t>(), 5);
  EXPECT_EQ(mw::nonzero(x - 1)[0].size(), 5);
  EXPECT_EQ(mw::searchsorted(x, mw::asarray({3.0f}), mw::Side::right).size(), 1);
  EXPECT_EQ(mw::sum(mw::where(x > 3, x, 0)).item<float>(), 15);
  EXPECT_EQ(mw::unique_all(x).values.size(), 6);
  EXPECT_EQ(mw::unique_counts(x).counts.size(), 6);
  EXPECT_EQ(mw::unique_inverse(x).inverse.size(), 6);
  EXPECT_EQ(mw::unique_values(x).size(), 6);
  EXPECT_EQ(mw::argsort(x, -1, true)[0].item<std::int32_t>(), 5);
  EXPECT_EQ(mw::sort(x, -1, true)[0].item<float>(), 6);
}

TEST(ArrayApi, LinearAlgebra) {
  const auto a = square();
  for (const auto& x : {mw::matmul(a, a), mw::matrix_transpose(a), mw::tensordot(a, a, 1), mw::linalg::matmul(a, a),
                        mw::linalg::matrix_transpose(a), mw::linalg::tensordot(a, a, 1), mw::linalg::cholesky(a), mw::linalg::inv(a),
                        mw::linalg::pinv(a), mw::linalg::matrix_power(a, 2), mw::linalg::solve(a, a), mw::linalg::qr(a).q,
                        mw::linalg::svd(a).u, mw::linalg::eigh(a).eigenvectors, mw::linalg::cross(a, a), mw::linalg::outer(a[0], a[1])})
    EXPECT_EQ(x.shape(), Shape({3, 3}));
  for (const auto& x :
       {mw::vecdot(a, a), mw::linalg::vecdot(a, a), mw::linalg::diagonal(a), mw::linalg::eigvalsh(a), mw::linalg::svdvals(a)})
    EXPECT_EQ(x.shape(), Shape({3}));
  for (const auto& x : {mw::linalg::det(a), mw::linalg::slogdet(a).logabsdet, mw::linalg::matrix_norm(a), mw::linalg::matrix_rank(a),
                        mw::linalg::trace(a), mw::linalg::vector_norm(a)})
    EXPECT_EQ(x.shape(), Shape({}));
}

TEST(ArrayApi, ManipulationStatisticsUtilities) {
  const auto x = line(), a = square();
  EXPECT_EQ(mw::broadcast_arrays({x, mw::ones({1})}).size(), 2u);
  EXPECT_EQ(mw::broadcast_to(x, {2, 6}).shape(), Shape({2, 6}));
  EXPECT_EQ(mw::concat({a, a}, 1).shape(), Shape({3, 6}));
  EXPECT_EQ(mw::expand_dims(x).shape(), Shape({1, 6}));
  EXPECT_EQ(mw::flip(x).shape(), x.shape());
  EXPECT_EQ(mw::moveaxis(a, 0, 1).shape(), a.shape());
  EXPECT_EQ(mw::permute_dims(a, {1, 0}).shape(), a.shape());
  EXPECT_EQ(mw::repeat(x, 2).shape(), Shape({12}));
  const auto repeated = mw::repeat(x, cut(mw::asarray({0, 1, 2, 0, 0, 3})));
  EXPECT_EQ(mw::sum(repeated).item<float>(), 2 + 3 + 3 + 6 + 6 + 6);
  EXPECT_EQ(repeated.shape(), Shape({6}));
  EXPECT_EQ(mw::repeat(a, mw::asarray({2}), 1).shape(), Shape({3, 6}));
  EXPECT_THROW(mw::repeat(x, mw::asarray({1.0f})), mw::DtypeError);
  EXPECT_THROW(mw::repeat(x, mw::asarray({1, 2})), mw::ShapeError);
  EXPECT_EQ(mw::reshape(x, {2, -1}).shape(), Shape({2, 3}));
  EXPECT_EQ(mw::roll(x, 2, 0).shape(), x.shape());
  EXPECT_EQ(mw::squeeze(mw::expand_dims(x), {0}).shape(), x.shape());
  EXPECT_EQ(mw::stack({x, x}).shape(), Shape({2, 6}));
  EXPECT_EQ(mw::tile(x, {2, 2}).shape(), Shape({2, 12}));
  EXPECT_EQ(mw::unstack(a).size(), 3u);
  for (const auto& y :
       {mw::max(x), mw::min(x), mw::mean(x), mw::prod(x), mw::stddev(x, {}, false, 1), mw::sum(x), mw::var(x), mw::all(x), mw::any(x)})
    EXPECT_EQ(y.ndim(), 0);
  EXPECT_EQ(mw::cumulative_sum(x, {}, {}, true).shape(), Shape({7}));
  EXPECT_EQ(mw::cumulative_prod(x).shape(), Shape({6}));
  EXPECT_EQ(mw::diff(x).shape(), Shape({5}));
}

}  // namespace

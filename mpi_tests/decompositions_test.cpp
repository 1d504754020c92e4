// ranks: 1 2 3 4 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// Factorisations on any layout multiply back to what was factorised, and have the properties that define them; norms against plain loops.
#include <gtest/gtest.h>

#include <cmath>

#include "support/exact.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using namespace mw;
using mw::testing::RandomPlacement;

namespace {

Array hermitian(const Array& x) { return conj(matrix_transpose(x)); }

// How far apart, in units of the dtype's eps and the largest modulus.
double apart(const Array& a, const Array& b) {
  if (!(a.shape() == b.shape())) return 1e30;
  if (a.size() == 0) return 0;
  const auto eps = a.dtype() == float64 || a.dtype() == complex128 ? 0x1p-52 : 0x1p-23;
  const auto off = max(abs(a - b)).astype(float64).item<double>(), size = max(abs(b)).astype(float64).item<double>();
  return off / (std::max(size, 1.0) * eps);
}

Array drawn(RandomPlacement& random, const Mesh& mesh, const Shape& shape, Dtype dtype) {
  const auto seed = random.below(1 << 30);
  auto x = random::normal(random::key(seed), shape, dtype == float64 || dtype == complex128 ? float64 : float32).astype(dtype);
  if (is_complex(dtype)) x = x + random::normal(random::key(seed + 1), shape) * std::complex<float>(0, 1);
  return random.below(4) == 0 ? x : device_put(x.astype(dtype), NamedSharding(mesh, random.spec(mesh, shape.ndim())));
}

Shape matrix_shape(RandomPlacement& random, std::int64_t m, std::int64_t n) {
  Shape shape;
  for (auto batch = random.below(3); batch > 0; --batch) shape.push_back(1 + random.below(4));
  shape.push_back(m);
  shape.push_back(n);
  return shape;
}

const Dtype dtypes[] = {float32, float64, complex64, complex128};

TEST(Decompositions, QrAndSvd) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto m = random.below(9), n = random.below(9), k = std::min(m, n);
    const auto dtype = dtypes[random.below(4)];
    const auto x = drawn(random, mesh, matrix_shape(random, m, n), dtype);
    const auto what = fmt::format("seed {}: {} on {}", seed, type_string(x), mw::to_string(mesh));
    for (const auto mode : {linalg::QrMode::reduced, linalg::QrMode::complete}) {
      const auto [q, r] = linalg::qr(x, mode);
      EXPECT_EQ(q.shape()[q.ndim() - 1], mode == linalg::QrMode::complete ? m : k) << what;
      EXPECT_LT(apart(matmul(q, r), x), 100) << what;
      EXPECT_LT(apart(matmul(hermitian(q), q), add(zeros_like(matmul(hermitian(q), q)), eye(q.shape()[q.ndim() - 1], {}, 0, q.dtype()))), 100) << what;
      EXPECT_EQ(apart(triu(r), r), 0) << what;
    }
    for (const bool full : {false, true}) {
      const auto [u, s, vh] = linalg::svd(x, full);
      EXPECT_FALSE(is_complex(s.dtype()));
      const auto left = getitem(u, {ellipsis, Slice(0, k)}), right = getitem(vh, {ellipsis, Slice(0, k), Slice()});
      EXPECT_LT(apart(matmul(left * expand_dims(s, s.ndim() - 1), right), x), 200) << what;
      EXPECT_LT(apart(matmul(hermitian(u), u), add(zeros_like(matmul(hermitian(u), u)), eye(u.shape()[u.ndim() - 1], {}, 0, u.dtype()))), 100) << what;
      if (k > 1) {
        EXPECT_TRUE(all(less_equal(diff(s), 0)).item<bool>()) << what;
      }
    }
  }
}

// Cut along the rows, unevenly: q and u lie as x does.
TEST(Decompositions, TallAndCut) {
  const auto n = devices().size();
  const NamedSharding rows(make_mesh({n}, {"x"}, {.devices = devices().reversed()}), P("x"));
  for (const auto dtype : {float32, float64, complex64}) {
    auto x = random::normal(random::key(4), {50 * n + 3, 5}).astype(dtype);
    x = device_put(is_complex(dtype) ? x * std::complex<float>(1, 2) : x, rows);
    const auto [q, r] = linalg::qr(x);
    EXPECT_TRUE(q.sharding().is_equivalent_to(rows, 2));
    EXPECT_LT(apart(matmul(q, r), x), 200);
    EXPECT_LT(apart(matmul(hermitian(q), q), eye(5, {}, 0, dtype)), 200);
    EXPECT_EQ(apart(triu(r), r), 0);
    const auto [u, s, vh] = linalg::svd(x, false);
    EXPECT_TRUE(u.sharding().is_equivalent_to(rows, 2));
    EXPECT_LT(apart(matmul(u * expand_dims(s, 0), vh), x), 200);
  }
}

TEST(Decompositions, SquareOnes) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto n = 1 + random.below(7);
    const auto dtype = dtypes[random.below(4)];
    const auto x = drawn(random, mesh, matrix_shape(random, n, n), dtype);
    const auto what = fmt::format("seed {}: {} on {}", seed, type_string(x), mw::to_string(mesh));
    const auto symmetric = x + hermitian(x);
    const auto [w, v] = linalg::eigh(symmetric);
    EXPECT_LT(apart(matmul(v * expand_dims(w, w.ndim() - 1), hermitian(v)), symmetric), 200) << what;
    if (n > 1) {
      EXPECT_TRUE(all(greater_equal(diff(w), 0)).item<bool>()) << what;
    }
    const auto one = eye(n, {}, 0, dtype);
    const auto positive = matmul(x, hermitian(x)) + one;
    const auto lower = linalg::cholesky(positive), upper = linalg::cholesky(positive, true);
    EXPECT_LT(apart(matmul(lower, hermitian(lower)), positive), 200) << what;
    EXPECT_LT(apart(matmul(hermitian(upper), upper), positive), 200) << what;
    EXPECT_EQ(apart(tril(lower), lower), 0);
    const auto b = drawn(random, mesh, {n}, dtype);
    const auto y = expand_dims(linalg::solve(positive, b), -1);
    EXPECT_LT(apart(matmul(positive, y), add(zeros_like(y), expand_dims(b, -1))), 5e4) << what;
    EXPECT_LT(apart(matmul(positive, linalg::inv(positive)), add(zeros_like(positive), one)), 5e4) << what;
    const auto [sign, logarithm] = linalg::slogdet(positive);
    const auto product = prod(linalg::eigvalsh(positive), {-1});
    EXPECT_LT(apart(exp(logarithm), product), 5e3) << what;
    EXPECT_LT(apart(linalg::det(matmul(x, x)), linalg::det(x) * linalg::det(x)), 5e4) << what;
    EXPECT_LT(apart(linalg::matrix_power(x, 3), matmul(matmul(x, x), x)), 100) << what;
    EXPECT_EQ(min(linalg::matrix_rank(positive)).item<std::int32_t>(), n) << what;
  }
}

TEST(Decompositions, WhatHasNone) {
  const auto x = asarray({{1.0f, 2.0f}, {2.0f, 4.0f}}), bad = asarray({{1.0f, 2.0f}, {2.0f, 1.0f}});
  EXPECT_TRUE(all(isnan(linalg::cholesky(bad))).item<bool>());
  EXPECT_TRUE(all(isnan(linalg::inv(x))).item<bool>());
  EXPECT_EQ(linalg::matrix_rank(x).item<std::int32_t>(), 1);
  EXPECT_LT(apart(matmul(matmul(x, linalg::pinv(x)), x), x), 100);
  EXPECT_TRUE(all(isnan(linalg::svdvals(full({3, 2}, NAN)))).item<bool>());
  using support::words;
  EXPECT_NE(words<ShapeError>([&] { linalg::inv(zeros({2, 3})); }).find("not square"), std::string::npos);
  EXPECT_NE(words<ShapeError>([&] { linalg::qr(zeros({2})); }).find("two axes"), std::string::npos);
  EXPECT_NE(words<ShapeError>([&] { linalg::solve(x, zeros({3})); }).find("a row for each"), std::string::npos);
}

TEST(Decompositions, Norms) {
  RandomPlacement random(1);
  const auto mesh = random.mesh();
  const auto x = device_put(asarray({{1.0f, -2.0f}, {-3.0f, 4.0f}}), NamedSharding(mesh, random.spec(mesh, 2)));
  const auto value = [](const Array& norm) { return norm.astype(float64).item<double>(); };
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(value(linalg::matrix_norm(x)), std::sqrt(30.0), 1e-5);
  EXPECT_EQ(value(linalg::matrix_norm(x, false, 1.0)), 6);
  EXPECT_EQ(value(linalg::matrix_norm(x, false, -1.0)), 4);
  EXPECT_EQ(value(linalg::matrix_norm(x, false, infinity)), 7);
  EXPECT_EQ(value(linalg::matrix_norm(x, false, -infinity)), 3);
  const double large = std::sqrt(15 + std::sqrt(221.0)), small = std::sqrt(15 - std::sqrt(221.0));
  EXPECT_NEAR(value(linalg::matrix_norm(x, false, 2.0)), large, 1e-5);
  EXPECT_NEAR(value(linalg::matrix_norm(x, false, "nuc")), large + small, 1e-5);
  EXPECT_EQ(value(linalg::vector_norm(x, {}, false, infinity)), 4);
  EXPECT_EQ(value(linalg::vector_norm(x, {}, false, 1)), 10);
  EXPECT_EQ(value(linalg::vector_norm(x, {}, false, 0)), 4);
  EXPECT_NEAR(value(linalg::vector_norm(x, {}, false, 3)), std::cbrt(100.0), 1e-5);
  EXPECT_EQ(linalg::matrix_norm(x, true, 1.0).shape(), (Shape{1, 1}));
  const auto e = linalg::cross(asarray({1.0f, 0.0f, 0.0f}), asarray({0.0f, 1.0f, 0.0f}));
  EXPECT_EQ(value(e[2]), 1);
}

}  // namespace

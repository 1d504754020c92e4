// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// variant: nodes2 ranks=4 MESHWISE_NODE_SIZE=2
// variant: unchecked ranks=4 MESHWISE_CHECK=off
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// Products of arrays of any layout against plain loops over letters.
#include <gtest/gtest.h>

#include <map>

#include "support/exact.hpp"

namespace mw = meshwise;
using mw::Array, mw::Dtype, mw::LocalArray, mw::NamedSharding, mw::P, mw::Shape;
using mw::testing::RandomPlacement, mw::testing::Whole;

namespace {

mw::Mesh line(std::int64_t n) { return mw::make_mesh({n}, {"x"}, {.devices = mw::devices().first(n)}); }

/// The sum over all assignments of the letters, one at a time.
std::vector<Whole> by_loops(const std::vector<std::string>& terms, const std::string& result, const std::vector<LocalArray>& x, Dtype dtype,
                            std::map<char, std::int64_t>& lengths) {
  std::string letters = result;
  std::vector<std::vector<Whole>> numbers;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    numbers.push_back(mw::testing::wholes(x[i]));
    for (std::size_t d = 0; d < terms[i].size(); ++d) {
      lengths[terms[i][d]] = x[i].shape()[static_cast<std::int64_t>(d)];
      if (letters.find(terms[i][d]) == std::string::npos) letters += terms[i][d];
    }
  }
  Shape all, kept;
  for (const char letter : letters) all.push_back(lengths[letter]);
  for (const char letter : result) kept.push_back(lengths[letter]);
  std::vector<Whole> out(static_cast<std::size_t>(kept.num_elements()));
  for (std::int64_t i = 0; i < all.num_elements(); ++i) {
    const auto at = mw::testing::coordinates(i, all);
    Whole product{1, 0};
    std::int64_t to = 0;
    for (std::size_t d = 0; d < result.size(); ++d) to = to * kept[static_cast<std::int64_t>(d)] + at[d];
    for (std::size_t t = 0; t < terms.size(); ++t) {
      std::int64_t from = 0;
      for (const char letter : terms[t]) from = from * lengths[letter] + at[letters.find(letter)];
      product = product * numbers[t][static_cast<std::size_t>(from)];
    }
    out[static_cast<std::size_t>(to)] = out[static_cast<std::size_t>(to)] + product;
  }
  for (auto& v : out) v = mw::testing::in_dtype(v, dtype);
  return out;
}

void check(const std::string& subscripts, std::uint64_t seed) {
  RandomPlacement random(seed);
  const auto mesh = random.mesh();
  std::vector<std::string> terms{""};
  const auto arrow = subscripts.find("->");
  for (const char c : subscripts.substr(0, arrow))
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  const auto result = subscripts.substr(arrow + 2);
  std::map<char, std::int64_t> lengths;
  std::vector<LocalArray> hosts;
  std::vector<Array> arrays;
  Dtype work{};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Shape shape;
    for (const char letter : terms[i]) {
      if (!lengths.contains(letter)) lengths[letter] = random.below(12) == 0 ? 0 : 1 + random.below(7);
      shape.push_back(lengths[letter]);
    }
    const auto dtype = i == 0 || random.below(3) == 0 ? random.dtype() : work;
    work = i == 0 ? dtype : mw::promote_types(work, dtype);
    hosts.push_back(mw::testing::small_values(random, shape, dtype, 2));
    arrays.push_back(mw::testing::placed(random, hosts.back(), mesh));
  }
  std::map<char, std::int64_t> found;
  const auto want = by_loops(terms, result, hosts, work, found);
  Shape shape;
  for (const char letter : result) shape.push_back(found[letter]);
  ASSERT_EQ(mw::testing::wrong(mw::einsum(subscripts, arrays), shape, work, want), "")
      << subscripts << " of " << type_string(arrays[0]) << (arrays.size() > 1 ? " and " + type_string(arrays[1]) : "") << ", seed " << seed;
}

TEST(Linalg, ProductsByLettersAgainstLoops) {
  const std::vector<std::string> all{"ij,jk->ik",    "ij,kj->ik",    "ji,jk->ki",   "i,i->",      "ij,j->i", "j,ij->i",
                                     "i,j->ij",      "bij,bjk->bik", "bij,jk->bik", "ij,ij->ij",  "ij,ij->", "ijk,jkl->il",
                                     "ij,ji->i",     "ij->ji",       "ii->i",       "ijj->i",     "ij->",    "iji,j->i",
                                     "ij,jk,kl->il", "i,ij,j->",     "ik,jk->jik",  "ab,cd->dabc"};
  for (std::uint64_t seed = 0; seed < 300; ++seed) check(all[seed % all.size()], seed);
}

TEST(Linalg, MatmulOfEveryKindOfShape) {
  struct Kind {
    Shape x, y, result;
    const char* subscripts;
  };
  const std::vector<Kind> kinds{{{4}, {4}, {}, "k,k->"},
                                {{3, 4}, {4}, {3}, "ik,k->i"},
                                {{4}, {4, 5}, {5}, "k,kj->j"},
                                {{3, 4}, {4, 5}, {3, 5}, "ik,kj->ij"},
                                {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}, "bik,bkj->bij"},
                                {{2, 3, 4}, {4, 5}, {2, 3, 5}, "bik,kj->bij"},
                                {{3, 4}, {2, 4, 5}, {2, 3, 5}, "ik,bkj->bij"},
                                {{6, 2, 3, 4}, {2, 4}, {6, 2, 3}, ""},
                                {{9, 7}, {7, 11}, {9, 11}, "ik,kj->ij"}};
  for (std::uint64_t seed = 0; seed < 90; ++seed) {
    const auto& kind = kinds[seed % kinds.size()];
    if (kind.subscripts[0] == '\0') continue;
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto dtype = static_cast<Dtype>(seed % 15);
    const std::vector<LocalArray> hosts{mw::testing::small_values(random, kind.x, dtype, 2),
                                        mw::testing::small_values(random, kind.y, dtype, 2)};
    const std::string s = kind.subscripts;
    const auto comma = s.find(','), arrow = s.find("->");
    std::map<char, std::int64_t> lengths;
    const auto want = by_loops({s.substr(0, comma), s.substr(comma + 1, arrow - comma - 1)}, s.substr(arrow + 2), hosts, dtype, lengths);
    const auto x = mw::testing::placed(random, hosts[0], mesh), y = mw::testing::placed(random, hosts[1], mesh);
    ASSERT_EQ(mw::testing::wrong(mw::matmul(x, y), kind.result, dtype, want), "")
        << type_string(x) << " @ " << type_string(y) << ", seed " << seed;
  }
}

TEST(Linalg, BatchesOfLengthOneAreBroadcast) {
  const auto n = mw::devices().size();
  const auto x = mw::device_put(mw::arange(12).reshape({1, 3, 4}), NamedSharding(line(n), P("x"))),
             y = mw::device_put(mw::arange(40).reshape({5, 4, 2}), NamedSharding(line(n), P("x")));
  const auto z = mw::matmul(x, y);
  ASSERT_EQ(z.shape(), (Shape{5, 3, 2}));
  const auto v = mw::device_get(z);
  for (std::int64_t b = 0; b < 5; ++b)
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 2; ++j) {
        std::int32_t want = 0;
        for (std::int32_t k = 0; k < 4; ++k) want += static_cast<std::int32_t>((i * 4 + k) * (b * 8 + k * 2 + j));
        EXPECT_EQ(v.view<std::int32_t>()(b, i, j), want);
      }
  EXPECT_TRUE(mw::all(mw::einsum("...ik,...kj->...ij", {x, y}) == z).item<bool>());
}

// A contraction split alike on both sides is a local product and a sum; the result's spec is the rule's.
TEST(Linalg, ContractionSplitOnBothSides) {
  const auto n = mw::devices().size();
  const auto m = line(n);
  const auto x = mw::device_put(mw::arange(6.0f * 13).reshape({6, 13}), NamedSharding(m, P(nullptr, "x"))),
             y = mw::device_put(mw::arange(13.0f * 5).reshape({13, 5}), NamedSharding(m, P("x")));
  const auto z = mw::matmul(x, y);
  EXPECT_TRUE(z.is_fully_replicated());
  const auto whole = mw::device_get(mw::matmul(mw::arange(6.0f * 13).reshape({6, 13}), mw::arange(13.0f * 5).reshape({13, 5})));
  const auto got = mw::device_get(z);
  for (std::int64_t i = 0; i < got.size(); ++i) EXPECT_FLOAT_EQ(got.view<float>()[i], whole.view<float>()[i]);
}

TEST(Linalg, LargeEnoughForEveryPathOfTheLocalProduct) {
  const auto n = mw::devices().size();
  const auto m = line(n);
  for (const auto dtype : {mw::float32, mw::float64, mw::complex64, mw::int32, mw::bfloat16}) {
    const auto x = (mw::arange(70 * 90) % 5 - 2).reshape({70, 90}).astype(dtype),
               y = (mw::arange(90 * 80) % 7 - 3).reshape({90, 80}).astype(dtype);
    const auto a = mw::testing::wholes(mw::device_get(x)), b = mw::testing::wholes(mw::device_get(y));
    std::vector<Whole> want(70 * 80);
    for (std::size_t i = 0; i < 70; ++i)
      for (std::size_t k = 0; k < 90; ++k)
        for (std::size_t j = 0; j < 80; ++j) want[i * 80 + j] = want[i * 80 + j] + a[i * 90 + k] * b[k * 80 + j];
    for (const auto& spec : {P("x"), P(nullptr, "x")}) {
      const auto p = mw::device_put(x, NamedSharding(m, spec)), q = mw::device_put(y, NamedSharding(m, spec));
      EXPECT_EQ(mw::testing::wrong(mw::matmul(p, q), {70, 80}, dtype, want), "") << name(dtype);
      // The same product of transposed windows: the other three ways of strides.
      EXPECT_EQ(mw::testing::wrong(mw::matmul(mw::device_put(x.T(), NamedSharding(m, spec)).T(), q), {70, 80}, dtype, want), "")
          << name(dtype);
      EXPECT_EQ(mw::testing::wrong(mw::matmul(p, mw::device_put(y.T(), NamedSharding(m, spec)).T()), {70, 80}, dtype, want), "")
          << name(dtype);
    }
  }
}

TEST(Linalg, NamesForTheSameProduct) {
  const auto x = mw::arange(24).reshape({2, 3, 4}), y = mw::arange(60).reshape({5, 4, 3});
  EXPECT_TRUE(mw::all(mw::dot(x, y) == mw::einsum("aik,bkj->aibj", {x, y})).item<bool>());
  EXPECT_TRUE(mw::all(mw::dot(x, mw::arange(4)) == mw::einsum("aik,k->ai", {x, mw::arange(4)})).item<bool>());
  EXPECT_TRUE(mw::all(mw::tensordot(x, y, {1, 2}, {2, 1}) == mw::einsum("aij,bji->ab", {x, y})).item<bool>());
  EXPECT_TRUE(mw::all(mw::outer(mw::arange(3), mw::arange(4)) == mw::einsum("i,j->ij", {mw::arange(3), mw::arange(4)})).item<bool>());
  EXPECT_TRUE(mw::all(mw::vecdot(x, mw::arange(4)) == mw::matmul(x, mw::arange(4))).item<bool>());
  const auto c = mw::arange(3).astype(mw::complex64) * std::complex<float>(0, 1);
  EXPECT_EQ(mw::vecdot(c, c).item<std::complex<float>>(), std::complex<float>(5, 0));
}

TEST(Linalg, ErrorsNameTheShapes) {
  const auto x = mw::ones({2, 3});
  try {
    mw::matmul(x, x);
    FAIL() << "nothing was thrown";
  } catch (const mw::ShapeError& error) {
    const std::string words = error.what();
    for (const char* part : {"matmul", "float32[2,3]", "3", "2"}) EXPECT_NE(words.find(part), std::string::npos) << words;
  }
  EXPECT_THROW(mw::matmul(x, mw::asarray(1.0f)), mw::ShapeError);
  EXPECT_THROW(mw::einsum("ij,jk->iq", {x, x.T()}), mw::ShapeError);
  EXPECT_THROW(mw::einsum("ij,j->i", {x, mw::ones({3, 1, 1})}), mw::ShapeError);
  EXPECT_THROW(mw::einsum("ij,jk->ii", {x, x.T()}), mw::ShapeError);
  EXPECT_THROW(mw::einsum("ij", {x, x}), mw::ShapeError);
  EXPECT_THROW(mw::tensordot(x, x, 1), mw::ShapeError);
}

}  // namespace

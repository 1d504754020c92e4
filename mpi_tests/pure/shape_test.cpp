#include "meshwise/base/shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "meshwise/base/error.hpp"
#include "support/thrown_words.hpp"

namespace meshwise {
namespace {

__extension__ using wide = __int128;

std::int64_t naive_start(std::int64_t t, std::int64_t parts, std::int64_t n) { return static_cast<std::int64_t>(wide{t} * n / parts); }

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape{}.num_elements(), 1);
  EXPECT_EQ((Shape{3, 4, 5}.num_elements()), 60);
  EXPECT_EQ((Shape{3, 0, 5}.num_elements()), 0);
  EXPECT_EQ((Shape{65536, 65537}.num_elements()), 4295032832);
  EXPECT_EQ((Shape{std::int64_t{1} << 40, std::int64_t{1} << 40, 0}.num_elements()), 0);
  EXPECT_THROW((Shape{std::int64_t{1} << 32, std::int64_t{1} << 31}.num_elements()), ShapeError);
  EXPECT_NE(support::words<ShapeError>([] { Shape{2, -3}.num_elements(); }).find("(2, -3)"), std::string::npos);
}

TEST(Shape, Prints) {
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape{16}), "(16,)");
  EXPECT_EQ(to_string(Shape{8, 16}), "(8, 16)");
  EXPECT_EQ(joined(Shape{8, 16}), "8,16");
  EXPECT_EQ(to_string(Index{{0, 2}, {8, 16}}), "[0:2, 8:16]");
  EXPECT_EQ(to_string(Index{}), "[]");
}

TEST(Shape, Strides) {
  EXPECT_EQ(row_major_strides(Shape{4, 3, 5}), (PerAxis<std::int64_t>{15, 5, 1}));
  EXPECT_TRUE(row_major_strides(Shape{}).empty());
  EXPECT_EQ(row_major_strides(Shape{0, std::int64_t{1} << 40, std::int64_t{1} << 40}).size(), 3U);  // no elements, so no overflow either
}

TEST(Shape, Broadcasts) {
  EXPECT_EQ(broadcast_shapes({8, 1, 3}, {4, 1}, "add"), (Shape{8, 4, 3}));
  EXPECT_EQ(broadcast_shapes({}, {4}, "add"), (Shape{4}));
  EXPECT_EQ(broadcast_shapes({1}, {0}, "add"), (Shape{0}));
  EXPECT_THROW(broadcast_shapes({0}, {2}, "add"), ShapeError);
  const auto text = support::words<ShapeError>([] { broadcast_shapes({2, 3}, {2}, "multiply"); });
  for (const auto* part : {"multiply", "(2, 3)", "(2,)", "-1"}) EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Shape, Axes) {
  EXPECT_EQ(normalize_axis(-1, 3, "sum"), 2);
  EXPECT_EQ(normalize_axis(0, 3, "sum"), 0);
  const auto text = support::words<IndexError>([] { normalize_axis(3, 3, "sum"); });
  for (const auto* part : {"sum", "axis 3", "3 axes", "-3 to 2"}) EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_THROW(normalize_axis(-4, 3, "sum"), IndexError);
  EXPECT_THROW(normalize_axis(0, 0, "sum"), IndexError);
}

TEST(Index, Boxes) {
  EXPECT_EQ(Index::whole(Shape{2, 3}), (Index{{0, 2}, {0, 3}}));
  EXPECT_EQ((Index{{2, 4}, {5, 5}}.shape()), (Shape{2, 0}));
  EXPECT_TRUE((Index{{2, 4}, {5, 5}}.empty()));
  EXPECT_EQ(Index{}.num_elements(), 1);
  EXPECT_EQ(intersect({2, 7}, {5, 9}), (Range{5, 7}));
  EXPECT_TRUE(intersect({2, 4}, {6, 9}).empty());
}

TEST(Part, IsTheFormulaAtEverySize) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const auto parts = static_cast<std::int64_t>(random() % (i % 2 == 0 ? 12 : (1 << 20))) + 1;
    const auto n = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    const auto t = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(parts));
    const auto got = part(t, parts, n);
    ASSERT_EQ(got.start, naive_start(t, parts, n)) << t << " of " << parts << " over " << n;
    ASSERT_EQ(got.stop, naive_start(t + 1, parts, n)) << t << " of " << parts << " over " << n;
  }
}

TEST(Part, OfFindsEveryElement) {
  for (std::int64_t n = 1; n <= 40; ++n)
    for (std::int64_t parts = 1; parts <= 45; ++parts)
      for (std::int64_t t = 0; t < parts; ++t) {
        const auto box = part(t, parts, n);
        for (auto e = box.start; e < box.stop; ++e) ASSERT_EQ(part_of(e, parts, n), t);
      }
  const auto n = (std::int64_t{1} << 62) + 5, parts = std::int64_t{1} << 20;
  EXPECT_EQ(part_of(n - 1, parts, n), parts - 1);
  EXPECT_EQ(part_of(0, parts, n), 0);
}

TEST(Part, SplittingByTwoAxesRefinesSplittingByOne) {
  for (std::int64_t n = 0; n < 30; ++n)
    for (std::int64_t k = 1; k < 6; ++k)
      for (std::int64_t m = 1; m < 6; ++m)
        for (std::int64_t t = 0; t < k; ++t) {
          EXPECT_EQ(part(t * m, k * m, n).start, part(t, k, n).start);
          EXPECT_EQ(part(t * m + m - 1, k * m, n).stop, part(t, k, n).stop);
        }
}

// A length that does not divide, or is shorter than the number of parts.
TEST(Part, U_031_ShardSizesOfShortLengths) {
  const auto sizes = [](std::int64_t n) {
    std::vector<std::int64_t> out;
    for (std::int64_t t = 0; t < 4; ++t) out.push_back(part(t, 4, n).size());
    return out;
  };
  for (const std::int64_t n : {2, 5, 9}) {
    const auto got = sizes(n);
    EXPECT_EQ(got[0] + got[1] + got[2] + got[3], n);
    EXPECT_LE(*std::max_element(got.begin(), got.end()) - *std::min_element(got.begin(), got.end()), 1);
  }
  EXPECT_EQ(sizes(2), (std::vector<std::int64_t>{0, 1, 0, 1}));
  EXPECT_EQ(sizes(9), (std::vector<std::int64_t>{2, 2, 2, 3}));
}

}  // namespace
}  // namespace meshwise

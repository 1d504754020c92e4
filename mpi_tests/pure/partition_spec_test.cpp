#include "meshwise/placement/partition_spec.hpp"

#include <gtest/gtest.h>

#include "meshwise/base/error.hpp"

namespace meshwise {
namespace {

TEST(PartitionSpec, Prints) {
  EXPECT_EQ(to_string(P()), "P()");
  EXPECT_EQ(to_string(P("x")), "P('x',)");
  EXPECT_EQ(to_string(P(nullptr)), "P(None,)");
  EXPECT_EQ(to_string(P("x", none)), "P('x', None)");
  EXPECT_EQ(to_string(P({"x", "y"})), "P(('x', 'y'),)");
  EXPECT_EQ(to_string(P("data", nullptr, {"x", "y"})), "P('data', None, ('x', 'y'))");
}

// The trap: std::string has a constructor from two iterators, and two const char* could be taken for them.
TEST(PartitionSpec, TwoNamesInBracesAreATuple) {
  const auto spec = P("x", {"y", "z"});
  ASSERT_EQ(spec.size(), 2);
  EXPECT_EQ(spec[0].axes(), (std::vector<std::string>{"x"}));
  EXPECT_EQ(spec[1].axes(), (std::vector<std::string>{"y", "z"}));
  const SpecEntry entry = {"y", "z"};
  EXPECT_EQ(entry, spec[1]);
  const std::string y = "y", z = "z";
  EXPECT_EQ(P(std::string("x"), {y, z}), spec);
  EXPECT_EQ(P("x", std::vector<std::string>{"y", "z"}), spec);
}

TEST(PartitionSpec, CanonicalEntries) {
  EXPECT_EQ(P({"x"}), P("x"));
  EXPECT_EQ(P(SpecEntry(std::vector<std::string>{}), "x"), P(none, "x"));
  EXPECT_EQ(P(""), P(none));
  EXPECT_EQ(to_string(P(SpecEntry(std::vector<std::string>{}))), "P(None,)");
}

TEST(PartitionSpec, EqualAsValues) {
  EXPECT_FALSE(P("x") == P("x", none));
  EXPECT_FALSE(P() == P(none));
  EXPECT_FALSE(P({"x", "y"}) == P({"y", "x"}));
  EXPECT_EQ(P("x", none), P("x", nullptr));
}

TEST(PartitionSpec, StopsAtTheLastGivenEntry) {
  EXPECT_EQ(P("x", none, none).size(), 3);
  EXPECT_EQ(P("a", "b", "c", "d", "e", "f", "g", "h").size(), 8);
  EXPECT_EQ(P("a", {}, "c"), P("a", none, "c"));
}

TEST(PartitionSpec, EntriesBeyondTheEndAreNone) {
  EXPECT_TRUE(P("x")[1].empty());
  EXPECT_TRUE(P()[7].empty());
}

TEST(PartitionSpec, Padded) {
  EXPECT_EQ(P("x").padded(3), P("x", none, none));
  EXPECT_EQ(P("x", none, none).padded(1), P("x"));
  EXPECT_EQ(P().padded(0), P());
  try {
    P("x", "y").padded(1);
    ADD_FAILURE();
  } catch (const PlacementError& error) {
    EXPECT_NE(std::string(error.what()).find("P('x', 'y')"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace meshwise

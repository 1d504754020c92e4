// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// Trees of arrays: structure, prefixes of targets, errors that name the key path.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include <meshwise/meshwise.hpp>

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape, mw::ShardingTree, mw::Target, mw::Tree;

namespace {

mw::Mesh line() { return mw::make_mesh({mw::devices().size()}, {"x"}); }

Tree model() { return Tree{{"w", mw::ones({8, 16})}, {"b", mw::zeros({16})}}; }
Tree nested() {
  return Tree{{"layers", Tree::list({Tree{{"w", mw::ones({4, 4})}}, Tree{{"w", mw::full({4, 4}, 2)}}})},
              {"head", Tree::tuple({mw::zeros({3}), Tree{}})}};
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const mw::PlacementError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Tree, FlattensInOrderAndComesBack) {
  const auto leaves = mw::tree_flatten_with_path(nested());
  std::vector<std::string> paths;
  for (const auto& leaf : leaves) paths.push_back(leaf.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"['head'][0]", "['layers'][0]['w']", "['layers'][1]['w']"}));
  EXPECT_EQ(mw::tree_flatten_with_path(model())[0].path, "['b']");
  const auto arrays = mw::tree_leaves(nested());
  const auto back = mw::tree_unflatten(nested(), {arrays[2], arrays[1], arrays[0]});
  EXPECT_EQ(back["layers"][1]["w"].shape(), Shape{3});
  EXPECT_EQ(back["head"].tree().kind(), Tree::Kind::tuple);
  EXPECT_EQ(back["head"][1].tree().kind(), Tree::Kind::empty);
  EXPECT_THROW(mw::tree_unflatten(nested(), {}), mw::Error);
  EXPECT_THROW(model()["c"], mw::IndexError);
  EXPECT_THROW(nested()["layers"][2], mw::IndexError);
  EXPECT_EQ(mw::tree_leaves(Tree{}).size(), 0u);
  EXPECT_EQ(mw::tree_leaves(Tree(mw::ones({2}))).size(), 1u);
}

TEST(Tree, MapsAndPrints) {
  const auto twice = mw::tree_map([](const Array& x) { return x + x; }, model());
  EXPECT_EQ(twice["w"].view<float>()[3], 2.0f);
  const auto placed = mw::device_put(model(), NamedSharding(line(), P("x")));
  EXPECT_EQ(to_string(model()), "{'b': float32[16], 'w': float32[8,16]}");
  EXPECT_EQ(to_string(placed), "{'b': float32[16@x], 'w': float32[8@x,16]}");
  EXPECT_EQ(to_string(Tree::tuple({mw::ones({2})})), "(float32[2],)");
  EXPECT_EQ(to_string(nested()), "{'head': (float32[3], None), 'layers': [{'w': float32[4,4]}, {'w': int32[4,4]}]}");
  Tree grown;
  grown.set("a", mw::ones({1}));
  grown.set("a", mw::ones({2}));
  EXPECT_EQ(to_string(grown), "{'a': float32[2]}");
}

// Leaves of all kinds go in one exchange: blocks that are lent, replicas, pieces, 0-d, empty, other dtypes, meshes of their own.
TEST(Tree, LeavesThatTravelTogetherArriveWhole) {
  const auto n = mw::devices().size();
  const auto m = line(), reversed = mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()}), one = mw::make_mesh({1}, {"x"}, {.devices = mw::devices().last(1)});
  const auto values = [](std::int64_t rows, std::int64_t columns, mw::Dtype dtype) { return mw::arange(0, rows * columns, 1, dtype).reshape({rows, columns}); };
  const std::vector<mw::Sharding> places = {NamedSharding(m, P("x")),        NamedSharding(m, P(nullptr, "x")), NamedSharding(m, P()), NamedSharding(reversed, P("x")),
                                            NamedSharding(reversed, P()),    NamedSharding(one, P("x")),        mw::SingleDeviceSharding(mw::devices()[0])};
  Tree tree;
  ShardingTree there, back;
  std::vector<Array> originals;
  int number = 0;
  for (std::size_t from = 0; from < places.size(); ++from)
    for (std::size_t to = 0; to < places.size(); ++to) {
      const auto key = fmt::format("{:03}", number);
      const auto dtype = std::vector{mw::float32, mw::int64, mw::uint8, mw::float64}[static_cast<std::size_t>(number) % 4];
      const auto value = values(number % 5 == 0 ? 0 : 1 + 3 * (number % 7), 1 + number % 11, dtype);
      originals.push_back(value);
      tree.set(key, mw::device_put(value, places[from]));
      there.set(key, Target{places[to]});
      back.set(key, Target{places[from]});
      ++number;
    }
  const auto placed = mw::device_put(tree, there);
  const auto returned = mw::device_put(placed, back, {.donate = true});
  const auto old = mw::tree_leaves(tree), moved = mw::tree_leaves(placed), again = mw::tree_leaves(returned);
  for (std::size_t i = 0; i < originals.size(); ++i) {
    EXPECT_TRUE(moved[i].is_deleted());
    EXPECT_EQ(again[i].sharding(), old[i].sharding());
    const auto want = mw::device_get(originals[i]), got = mw::device_get(again[i]);
    ASSERT_EQ(got.shape(), want.shape());
    EXPECT_EQ(std::memcmp(got.data(), want.data(), static_cast<std::size_t>(want.nbytes())), 0) << "leaf " << i;
    ASSERT_EQ(old[i].is_deleted(), old[i].sharding() == moved[i].sharding());  // what stays where it is is the same array
    if (old[i].is_deleted()) continue;
    EXPECT_EQ(std::memcmp(mw::device_get(old[i]).data(), want.data(), static_cast<std::size_t>(want.nbytes())), 0) << "leaf " << i;
  }
}

TEST(Tree, OneTargetATreeOfTargetsAndPrefixes) {
  const auto m = line();
  const NamedSharding rows(m, P("x")), whole(m, P());
  const auto one = mw::device_put(nested(), rows);
  for (const auto& leaf : mw::tree_leaves(one)) EXPECT_EQ(leaf.sharding(), rows);
  EXPECT_TRUE(one["layers"][0]["w"].committed());
  const auto prefix = mw::device_put(
      nested(), ShardingTree{{"layers", ShardingTree::list({rows, ShardingTree{{"w", whole}}})}, {"head", mw::devices()[0]}});
  EXPECT_EQ(prefix["layers"][0]["w"].sharding(), rows);
  EXPECT_EQ(prefix["layers"][1]["w"].sharding(), whole);
  EXPECT_EQ(prefix["head"][0].sharding(), mw::SingleDeviceSharding(mw::devices()[0]));
  const auto some = mw::device_put(model(), ShardingTree{{"w", rows}, {"b", Target{}}});
  EXPECT_TRUE(some["w"].committed());
  EXPECT_FALSE(some["b"].committed());
  // An Item is its leaf where it is one.
  const Array w = one["layers"][1]["w"];
  EXPECT_EQ(w.dtype(), mw::int32);
}

TEST(UserCases, U061_MismatchesNameTheKeyPath) {
  const auto m = line();
  const NamedSharding rows(m, P("x"));
  const auto missing = refusal([&] { mw::device_put(model(), ShardingTree{{"w", rows}}); });
  EXPECT_NE(missing.find("['b']"), std::string::npos) << missing;
  EXPECT_NE(missing.find("float32[16]"), std::string::npos) << missing;
  const auto extra = refusal([&] { mw::device_put(model(), ShardingTree{{"w", rows}, {"b", rows}, {"c", rows}}); });
  EXPECT_NE(extra.find("['c']"), std::string::npos) << extra;
  const auto both = refusal([&] { mw::device_put(model(), ShardingTree{{"w", rows}, {"c", rows}}); });
  EXPECT_NE(both.find("['b']"), std::string::npos) << both;
  EXPECT_NE(both.find("['c']"), std::string::npos) << both;

  const auto placed = mw::device_put(model(), rows);
  const auto n = mw::devices().size();
  EXPECT_EQ(placed["w"].sharding().shard_shape({8, 16}), (Shape{(8 + n - 1) / n, 16}));
  EXPECT_EQ(placed["b"].sharding().shard_shape({16}), (Shape{(16 + n - 1) / n}));

  // The second leaf does not fit: nothing has moved, so also a donated first leaf lives.
  auto data = mw::device_put(Tree{{"a", mw::ones({8, 16})}, {"z", mw::zeros({16})}}, NamedSharding(m, P()));
  const auto bad = refusal([&] { mw::device_put(data, NamedSharding(m, P(nullptr, "x")), {.donate = true}); });
  EXPECT_NE(bad.find("['z']"), std::string::npos) << bad;
  EXPECT_FALSE(data["a"].is_deleted());
  EXPECT_FALSE(data["z"].is_deleted());
}

TEST(Tree, KindsDiffer) {
  const NamedSharding rows(line(), P("x"));
  const auto pair = Tree::list({mw::ones({4}), mw::ones({4})});
  const auto at_root = refusal([&] { mw::device_put(pair, ShardingTree::tuple({rows, rows})); });
  EXPECT_NE(at_root.find("the root"), std::string::npos) << at_root;
  EXPECT_NE(at_root.find("a list of length 2"), std::string::npos) << at_root;
  EXPECT_NE(at_root.find("a tuple of length 2"), std::string::npos) << at_root;
  EXPECT_NE(refusal([&] { mw::device_put(pair, ShardingTree::list({rows})); }).find("length 1"), std::string::npos);
  EXPECT_NE(refusal([&] {
              mw::device_put(Tree(mw::ones({4})), ShardingTree{{"w", rows}});
            }).find("the leaf float32[4]"),
            std::string::npos);
  EXPECT_NE(refusal([&] { mw::device_put(pair, ShardingTree::list({rows, ShardingTree::list({rows})})); }).find("[1]"), std::string::npos);
}

}  // namespace

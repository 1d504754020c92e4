// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// Trees of arrays: structure, prefixes of targets, errors that name the key path.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

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

template <class T>
std::vector<T> values(const Array& x) {
  const auto whole = mw::device_get(x);
  return {whole.view<T>().begin(), whole.view<T>().end()};
}
using Floats = std::vector<float>;

std::vector<std::string> paths(const Tree& tree) {
  std::vector<std::string> out;
  for (const auto& leaf : mw::tree_flatten_with_path(tree)) out.push_back(leaf.path);
  return out;
}
using Paths = std::vector<std::string>;

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const mw::PlacementError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Tree, FlattensInOrderAndComesBack) {
  EXPECT_EQ(paths(nested()), (Paths{"['head'][0]", "['layers'][0]['w']", "['layers'][1]['w']"}));
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

TEST(TreeOf, VectorsAreListsTuplesAreTuplesStringMapsAreDicts) {
  const auto a = mw::ones({2}), b = mw::zeros({3}, mw::int16);
  EXPECT_EQ(to_string(Tree(std::vector<Array>{a, b})), "[float32[2], int16[3]]");
  EXPECT_EQ(to_string(Tree(std::tuple{b, a})), "(int16[3], float32[2])");
  EXPECT_EQ(to_string(Tree(std::tuple{a})), "(float32[2],)");
  EXPECT_EQ(to_string(Tree(std::tie(a, b))), "(float32[2], int16[3])");
  EXPECT_EQ(to_string(Tree(std::map<std::string, Array>{{"z", a}, {"b", b}})), "{'b': int16[3], 'z': float32[2]}");
  EXPECT_EQ(to_string(Tree(std::unordered_map<std::string, Array>{{"z", a}, {"b", b}, {"c", a}})),
            "{'b': int16[3], 'c': float32[2], 'z': float32[2]}");
  EXPECT_EQ(to_string(Tree(std::vector<Array>{})), "[]");
  EXPECT_EQ(to_string(Tree(std::tuple{})), "()");
  EXPECT_EQ(to_string(Tree(std::map<std::string, Array>{})), "{}");

  const Tree deep =
      std::map<std::string, std::vector<std::tuple<Array, Tree>>>{{"y", {{a, Tree{}}}}, {"x", {{a, b}, {b, Tree::list({a, b})}}}};
  EXPECT_EQ(paths(deep), (Paths{"['x'][0][0]", "['x'][0][1]", "['x'][1][0]", "['x'][1][1][0]", "['x'][1][1][1]", "['y'][0][0]"}));
  EXPECT_EQ(to_string(deep), "{'x': [(float32[2], int16[3]), (int16[3], [float32[2], int16[3]])], 'y': [(float32[2], None)]}");
  const Tree mixed{{"w", {{"k", a}}}, {"v", std::vector<Array>{a, b}}, {"t", std::tuple{deep["y"], a}}, {"n", {}}};
  EXPECT_EQ(to_string(mixed), "{'n': None, 't': ([(float32[2], None)], float32[2]), 'v': [float32[2], int16[3]], 'w': {'k': float32[2]}}");
  EXPECT_EQ(to_string(Tree(std::vector<Tree>{a, std::tuple{b}})), "[float32[2], (int16[3],)]");

  const Tree list(std::vector<Array>{a, b});
  EXPECT_EQ(list[1].dtype(), mw::int16);
  EXPECT_EQ(list[0].shape(), Shape{2});
  EXPECT_THROW(list[2], mw::IndexError);
  EXPECT_THROW(list[-1], mw::IndexError);
}

TEST(TreeOf, HostValuesAreLeaves) {
  const Floats numbers{1, 2, 4};
  mw::LocalArray local({2}, mw::uint8);
  local.mutable_view<std::uint8_t>()(0) = 7;
  local.mutable_view<std::uint8_t>()(1) = 9;
  const Tree tree{{"vector", numbers},
                  {"span", std::span<const float>(numbers)},
                  {"lists", std::vector<Floats>{{1, 2}, {3, 4}}},
                  {"local", local},
                  {"number", 3},
                  {"list", std::vector<mw::LocalArray>{local, local}},
                  {"tuple", std::tuple{2.5, true, mw::ones({3})}}};
  EXPECT_EQ(to_string(tree),
            "{'list': [uint8[2], uint8[2]], 'lists': float32[2,2], 'local': uint8[2], 'number': int32[], 'span': float32[3], "
            "'tuple': (float32[], bool[], float32[3]), 'vector': float32[3]}");
  EXPECT_EQ(values<float>(tree["vector"]), (Floats{1, 2, 4}));
  EXPECT_EQ(values<float>(tree["span"]), (Floats{1, 2, 4}));
  EXPECT_EQ(values<float>(tree["lists"]), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(values<std::uint8_t>(tree["list"][1]), (std::vector<std::uint8_t>{7, 9}));
  EXPECT_EQ(tree["number"].item<std::int32_t>(), 3);
  EXPECT_EQ(tree["tuple"][0].item<float>(), 2.5f);
  EXPECT_FALSE(tree["vector"].committed());
}

// What is not data does not compile: text, keys that are no strings, a number where a target is wanted, trees of the other kind of leaf.
static_assert(!std::convertible_to<const char*, Tree> && !std::convertible_to<std::string, Tree> &&
              !std::convertible_to<std::vector<std::string>, Tree>);
static_assert(!std::convertible_to<std::map<int, Array>, Tree> && !std::convertible_to<std::multimap<std::string, Array>, Tree>);
static_assert(!std::convertible_to<double, ShardingTree> && !std::convertible_to<Floats, ShardingTree> &&
              !std::convertible_to<Tree, ShardingTree>);

template <class T>
void expect_put(const Array& x, const mw::Sharding& where, const Shape& shape, const std::vector<T>& numbers) {
  EXPECT_TRUE(x.committed());
  EXPECT_EQ(x.sharding(), where) << to_string(x);
  EXPECT_EQ(x.shape(), shape);
  ASSERT_EQ(x.dtype(), mw::dtype_of<T>());
  EXPECT_EQ(values<T>(x), numbers);
}

TEST(PutHostValues, OnATarget) {
  const NamedSharding rows(line(), P("x")), whole(line(), P());
  const auto last = mw::devices()[mw::devices().size() - 1];
  const mw::SingleDeviceSharding there(last);
  Floats seven{3, 4, 5, 6, 7, 8, 9};
  expect_put<float>(mw::device_put(seven, Target{rows}), rows, {7}, {3, 4, 5, 6, 7, 8, 9});
  expect_put<float>(mw::device_put(std::span<const float>(seven), rows), rows, {7}, {3, 4, 5, 6, 7, 8, 9});
  expect_put<float>(mw::device_put(std::span(seven).subspan(2, 3), last), there, {3}, {5, 6, 7});
  expect_put<bool>(mw::device_put(std::vector<bool>{true, false, true}, rows), rows, {3}, {true, false, true});
  expect_put<int>(mw::device_put(std::vector<std::vector<int>>{{0, 1}, {10, 11}, {20, 21}}, rows), rows, {3, 2}, {0, 1, 10, 11, 20, 21});
  expect_put<int>(mw::device_put({{0, 1}, {0, 11}}, rows), rows, {2, 2}, {0, 1, 0, 11});
  expect_put<float>(mw::device_put({0.5, 2.0}, last), there, {2}, {0.5f, 2});
  expect_put<int>(mw::device_put({0}, rows), rows, {1}, {0});
  mw::LocalArray local({2, 3}, mw::float64);
  for (int k = 0; k < 6; ++k) local.mutable_view<double>()[k] = k;
  expect_put<double>(mw::device_put(local, rows), rows, {2, 3}, {0, 1, 2, 3, 4, 5});
  expect_put<double>(mw::device_put(local.transposed({1, 0}), last), there, {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_put<float>(mw::device_put(4.0, whole), whole, {}, {4});
  expect_put<bool>(mw::device_put(true, last), there, {}, {true});
  expect_put<std::complex<float>>(mw::device_put(std::complex<float>(1, 2), whole), whole, {}, {{1, 2}});
  expect_put<std::complex<float>>(mw::device_put(std::complex<double>(1, 2), whole), whole, {}, {{1, 2}});  // a literal, as in asarray
  EXPECT_EQ(values<mw::float16_t>(mw::device_put(mw::float16_t(1.5f), whole))[0].bits, 0x3e00);
  EXPECT_EQ(values<mw::bfloat16_t>(mw::device_put(mw::bfloat16_t(1.5f), last))[0].bits, 0x3fc0);
  EXPECT_THROW(mw::device_put(2.0, rows), mw::PlacementError);
  EXPECT_THROW(mw::device_put(std::vector<Floats>{{1, 2}, {3}}, rows), mw::ShapeError);
}

TEST(PutHostValues, WithoutATargetOnTheDefaultDeviceUncommitted) {
  const auto last = mw::devices()[mw::devices().size() - 1];
  const Floats two{5, 6};
  const auto placed = mw::device_put(two, NamedSharding(line(), P("x")));
  const auto local = mw::LocalArray::from(std::span<const float>(two), {1, 2});
  const mw::default_device scope(last);
  for (const auto& x : {mw::device_put(two), mw::device_put(std::span<const float>(two)), mw::device_put(local), mw::device_put({5.0, 6.0}),
                        mw::device_put(two, Target{})}) {
    EXPECT_FALSE(x.committed());
    EXPECT_EQ(x.sharding(), mw::SingleDeviceSharding(last));
    EXPECT_EQ(values<float>(x), two);
  }
  EXPECT_EQ(mw::device_put(local).shape(), (Shape{1, 2}));
  EXPECT_FALSE(mw::device_put(1.5).committed());
  EXPECT_EQ(mw::device_put(1.5).item<float>(), 1.5f);
  EXPECT_EQ(mw::device_put(std::complex<float>(0, 1)).item<std::complex<float>>(), std::complex<float>(0, 1));
  EXPECT_EQ(mw::device_put(mw::float16_t(1.5f)).item<mw::float16_t>().bits, 0x3e00);
  for (const auto& same : {mw::device_put(placed), mw::device_put(placed, Target{})}) {
    EXPECT_EQ(same.state(), placed.state());
    EXPECT_TRUE(same.committed());
  }
  EXPECT_EQ(mw::device_put(placed, Target{last}).sharding(), mw::SingleDeviceSharding(last));
}

TEST(PutContainers, OneTargetForAllLeaves) {
  const auto n = mw::devices().size();
  const NamedSharding rows(line(), P("x"));
  const auto x = mw::arange(2 * n);
  std::vector<std::int32_t> counted(static_cast<std::size_t>(2 * n));
  std::iota(counted.begin(), counted.end(), 0);
  const auto list = mw::device_put(std::vector<Array>{x, mw::ones({3})}, rows);
  const auto tuple = mw::device_put(std::tuple{x, Floats{5, 6, 7}}, rows);
  const auto dict = mw::device_put(std::map<std::string, Array>{{"w", x}, {"b", mw::full({3}, 2)}}, rows);
  const auto nest = mw::device_put(std::map<std::string, std::vector<Floats>>{{"m", {{1, 2}, {3, 4}}}}, rows);
  EXPECT_EQ(to_string(list), fmt::format("[int32[{}@x], float32[3@x]]", 2 * n));
  EXPECT_EQ(to_string(tuple), fmt::format("(int32[{}@x], float32[3@x])", 2 * n));
  EXPECT_EQ(to_string(dict), fmt::format("{{'b': int32[3@x], 'w': int32[{}@x]}}", 2 * n));
  EXPECT_EQ(to_string(nest), "{'m': float32[2@x,2]}");
  EXPECT_EQ(list.kind(), Tree::Kind::list);
  EXPECT_EQ(tuple.kind(), Tree::Kind::tuple);
  EXPECT_EQ(values<std::int32_t>(list[0]), counted);
  EXPECT_EQ(values<float>(list[1]), (Floats{1, 1, 1}));
  EXPECT_EQ(values<float>(tuple[1]), (Floats{5, 6, 7}));
  EXPECT_EQ(values<std::int32_t>(dict["b"]), (std::vector<std::int32_t>{2, 2, 2}));
  EXPECT_EQ(values<float>(nest["m"]), (Floats{1, 2, 3, 4}));
  for (const auto& tree : {list, tuple, dict, nest})
    for (const auto& leaf : mw::tree_leaves(tree)) {
      EXPECT_TRUE(leaf.committed());
      EXPECT_EQ(leaf.sharding(), rows);
    }
  const auto last = mw::devices()[n - 1];
  EXPECT_EQ(mw::device_put(std::tuple{1.0, x}, last)[0].sharding(), mw::SingleDeviceSharding(last));
  EXPECT_EQ(mw::device_put(std::tuple{1.0, x}, Target{last})[1].sharding(), mw::SingleDeviceSharding(last));
  // Every leaf of a vector is donated; the handle outside sees it.
  auto given = mw::device_put(mw::ones({2 * n}), rows);
  const auto moved = mw::device_put(std::vector<Array>{given}, NamedSharding(line(), P()), {.donate = true});
  EXPECT_TRUE(given.is_deleted());
  EXPECT_EQ(values<float>(moved[0]), Floats(static_cast<std::size_t>(2 * n), 1.0f));
}

TEST(PutContainers, NoTargetLeavesArraysAsTheyAre) {
  const auto last = mw::devices()[mw::devices().size() - 1];
  const auto placed = mw::device_put(mw::ones({4}), NamedSharding(line(), P("x"))), loose = mw::ones({2});
  const mw::default_device scope(last);
  const auto tree = mw::device_put(std::tuple{placed, loose, Floats{3, 4}, 1.5});
  EXPECT_EQ(to_string(tree), "(float32[4@x], float32[2], float32[2], float32[])");
  EXPECT_EQ(tree[0].state(), placed.state());
  EXPECT_TRUE(tree[0].committed());
  EXPECT_EQ(tree[1].state(), loose.state());
  EXPECT_EQ(values<float>(tree[2]), (Floats{3, 4}));
  for (const int i : {2, 3}) {
    EXPECT_FALSE(tree[i].committed());
    EXPECT_EQ(tree[i].sharding(), mw::SingleDeviceSharding(last));
  }
  EXPECT_EQ(mw::device_put(nested())["layers"][0]["w"].shape(), (Shape{4, 4}));
  EXPECT_EQ(mw::device_put(std::map<std::string, Array>{{"w", placed}})["w"].state(), placed.state());
  EXPECT_EQ(mw::device_put(std::vector<Array>{loose, placed})[1].state(), placed.state());
  EXPECT_EQ(mw::tree_leaves(mw::device_put(std::vector<Array>{})).size(), 0u);
}

TEST(PutContainers, TargetsMayBeContainersAndMustFit) {
  const NamedSharding rows(line(), P("x")), whole(line(), P());
  const auto first = mw::devices()[0];
  const std::vector<Array> pair{mw::ones({4}), mw::zeros({5})};
  const std::map<std::string, Array> dict{{"w", mw::ones({4})}, {"b", mw::zeros({16})}};
  const auto list = mw::device_put(pair, std::vector<NamedSharding>{rows, whole});
  EXPECT_EQ(list[0].sharding(), rows);
  EXPECT_EQ(list[1].sharding(), whole);
  const auto tuple = mw::device_put(std::tuple{pair, 1.0f, mw::ones({3})}, std::tuple{rows, first, Target{}});
  EXPECT_EQ(tuple[0][1].sharding(), rows);
  EXPECT_EQ(tuple[1].sharding(), mw::SingleDeviceSharding(first));
  EXPECT_TRUE(tuple[1].committed());
  EXPECT_FALSE(tuple[2].committed());
  EXPECT_EQ(mw::device_put(dict, {{"w", rows}, {"b", whole}})["b"].sharding(), whole);
  EXPECT_EQ(mw::device_put(dict, std::map<std::string, mw::Device>{{"w", first}, {"b", first}})["w"].sharding(),
            mw::SingleDeviceSharding(first));

  const auto kinds = refusal([&] { mw::device_put(pair, std::tuple{rows, rows}); });
  EXPECT_NE(kinds.find("at the root the data has a list of length 2, the targets have a tuple of length 2"), std::string::npos) << kinds;
  const auto length = refusal([&] { mw::device_put(std::tuple{pair, pair}, std::tuple{rows, std::vector{rows}}); });
  EXPECT_NE(length.find("at [1] the data has a list of length 2, the targets have a list of length 1"), std::string::npos) << length;
  const auto key = refusal([&] { mw::device_put(dict, std::map<std::string, NamedSharding>{{"w", rows}}); });
  EXPECT_NE(key.find("at ['b'] the data has the leaf float32[16]"), std::string::npos) << key;
  const auto values_are_a_leaf = refusal([&] { mw::device_put(Floats{1, 2, 3}, std::vector{rows, rows, rows}); });
  EXPECT_NE(values_are_a_leaf.find("the leaf float32[3]"), std::string::npos) << values_are_a_leaf;
  const auto too_long = refusal([&] { mw::device_put(std::tuple{mw::ones({4}), 1.0}, rows); });
  EXPECT_NE(too_long.find("tree[1]"), std::string::npos) << too_long;
}

}  // namespace

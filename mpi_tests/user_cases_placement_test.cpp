// ranks: 1 2 3 4 6 8
// devices_per_rank: 8 4@2
// variant: private ranks=4,8 MESHWISE_STORE=private
// What users of such systems ran into, restated: meshes, commitment, moves. Cases that need more devices than there are are skipped.
#include <gtest/gtest.h>
#include <mpi.h>

#include <limits>

#include "support/need_devices.hpp"
#include "support/random_placement.hpp"
#include "support/row_major_numbers.hpp"

namespace mw = meshwise;
using mw::Array, mw::DeviceList, mw::NamedSharding, mw::P, mw::make_mesh;
using mw::testing::counting, mw::testing::wrong_shards;
using support::numbered, support::wrong_numbers;

namespace {

Array iota(const mw::Shape& shape, mw::Dtype dtype = mw::float32) { return numbered(shape, dtype); }

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const mw::Error& error) {
    return error.what();
  }
  return "";
}

bool mentions(const std::string& text, std::initializer_list<const char*> words) {
  for (const auto* word : words)
    if (text.find(word) == std::string::npos) return false;
  return true;
}

/// Device id -> what that device's own block holds, each replica by itself, for float32 arrays; Collective. The library's gather would take a
/// box from one replica and say nothing about the others. A block of another shape than its box is NaN, which equals nothing.
std::map<std::int64_t, std::vector<float>> by_device(const Array& x) {
  mw::barrier();
  std::map<std::int64_t, std::vector<float>> out;
  for (const auto& shard : x.global_shards()) {
    std::vector<float> block(static_cast<std::size_t>(shard.index().num_elements()), std::numeric_limits<float>::quiet_NaN());
    if (shard.is_addressable() && shard.data().shape() == shard.index().shape()) {
      const auto v = shard.data().view<float>();
      block.assign(v.begin(), v.end());
    }
    MPI_Bcast(block.data(), static_cast<int>(block.size()), MPI_FLOAT, static_cast<int>(shard.device().rank), MPI_COMM_WORLD);
    out[shard.device().id] = std::move(block);
  }
  return out;
}

std::vector<float> values(const Array& x) {
  const auto whole = mw::device_get(x);
  return {whole.view<float>().begin(), whole.view<float>().end()};
}

using Floats = std::vector<float>;
using Blocks = std::map<std::int64_t, Floats>;

Floats counted(int n) {
  Floats v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}

TEST(UserCases, U001_MovedArrayForgetsItsOldMesh) {
  NEED_DEVICES(4);
  const auto a = make_mesh({4}, {"s"}, {.devices = {0, 1, 2, 3}}), b = make_mesh({1}, {"s"}, {.devices = {0}});
  const auto x = mw::device_put(iota({8}), NamedSharding(a, P("s")));
  const auto z = mw::device_put(x, NamedSharding(b, P())) + 1;
  EXPECT_EQ(z.sharding().mesh(), b);
  EXPECT_EQ(z.sharding().devices().ids(), (std::vector<std::int64_t>{0}));
  EXPECT_TRUE(z.committed());
  EXPECT_EQ(by_device(z), (Blocks{{0, {1, 2, 3, 4, 5, 6, 7, 8}}}));
  EXPECT_EQ(x.sharding().mesh(), a);
  EXPECT_EQ(x.sharding().shard_shape(x.shape()), (mw::Shape{2}));
  EXPECT_EQ(by_device(x), (Blocks{{0, {0, 1}}, {1, {2, 3}}, {2, {4, 5}}, {3, {6, 7}}}));
}

TEST(UserCases, U002_SameDevicesInAnotherOrderAreAnotherMesh) {
  NEED_DEVICES(4);
  const auto m1 = make_mesh({2, 2}, {"x", "y"}, {.devices = {0, 1, 2, 3}}), m2 = make_mesh({2, 2}, {"x", "y"}, {.devices = {0, 2, 1, 3}});
  const auto a = mw::device_put(mw::ones({4}), NamedSharding(m1, P())), b = mw::device_put(mw::ones({4}), NamedSharding(m2, P()));
  const auto text = refusal([&] { a + b; });
  EXPECT_TRUE(mentions(text, {"add", "[0, 1, 2, 3]", "[0, 2, 1, 3]", "order matters", "device_put"})) << text;
  EXPECT_EQ(values(a + mw::device_put(b, NamedSharding(m1, P()))), Floats(4, 2.0f));
  const auto flat = mw::device_put(mw::ones({4}), NamedSharding(make_mesh({4}, {"z"}, {.devices = {0, 1, 2, 3}}), P("z")));
  EXPECT_EQ(values(a + flat), Floats(4, 2.0f));
}

TEST(UserCases, U005_PositionIsNotDeviceId) {
  NEED_DEVICES(6);
  const auto m = make_mesh({3}, {"x"}, {.devices = {5, 0, 2}});
  const auto x = mw::device_put(iota({6}), NamedSharding(m, P("x")));
  EXPECT_EQ(by_device(x), (Blocks{{5, {0, 1}}, {0, {2, 3}}, {2, {4, 5}}}));
  EXPECT_EQ(by_device(mw::reshard(x, P())), (Blocks{{5, counted(6)}, {0, counted(6)}, {2, counted(6)}}));
  const auto sorted = mw::device_put(x, NamedSharding(make_mesh({3}, {"x"}, {.devices = {0, 2, 5}}), P("x")));
  EXPECT_EQ(by_device(sorted), (Blocks{{0, {0, 1}}, {2, {2, 3}}, {5, {4, 5}}}));
}

TEST(UserCases, U007_RefusalSaysWhichMeshes) {
  NEED_DEVICES(4);
  const auto m1 = make_mesh({2}, {"x"}, {.devices = {0, 1}}), m2 = make_mesh({2}, {"x"}, {.devices = {2, 3}});
  const auto a = mw::device_put(mw::ones({8, 16}), NamedSharding(m1, P("x"))), b = mw::device_put(mw::ones({8, 16}), NamedSharding(m2, P("x")));
  const auto text = refusal([&] { a + b; });
  EXPECT_TRUE(mentions(text, {"add", "float32[8,16]", "[0, 1]", "[2, 3]", "P('x',)"})) << text;
}

TEST(UserCases, U009_ArrayFarFromThisRank) {
  NEED_DEVICES(3);
  const auto x = mw::device_put(iota({3}, mw::float64), NamedSharding(make_mesh({1}, {"x"}, {.devices = {2}}), P()));
  const auto y = x * 2;
  EXPECT_EQ(y.shape(), (mw::Shape{3}));
  if (mw::devices()[2].rank == mw::process_index()) {
    EXPECT_EQ(y.view<double>()[2], 4.0);
  } else {
    EXPECT_TRUE(y.addressable_shards().empty());
    EXPECT_THROW(y.view<double>(), mw::NotAddressableError);
  }
}

TEST(UserCases, U010_EmptyResultsStayWhereTheyAre) {
  NEED_DEVICES(4);
  const auto m = make_mesh({2}, {"x"}, {.devices = {2, 3}});
  const auto x = mw::device_put(iota({8}), NamedSharding(m, P("x")));
  const auto y = x[mw::Slice(0, 0)];
  EXPECT_EQ(y.shape(), (mw::Shape{0}));
  EXPECT_EQ((y + y).sharding().devices().ids(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(mw::sum(y).item<float>(), 0.0f);
  const auto far = mw::device_put(mw::zeros({0}), NamedSharding(make_mesh({2}, {"x"}, {.devices = {0, 1}}), P("x")));
  EXPECT_THROW(y + far, mw::CommitmentError);
}

TEST(UserCases, U013_ReplicatedToReplicatedOnAnotherMesh) {
  NEED_DEVICES(6);
  const auto x = mw::device_put(iota({5}), NamedSharding(make_mesh({3}, {"x"}, {.devices = {0, 1, 2}}), P()));
  const auto y = mw::device_put(x, NamedSharding(make_mesh({2}, {"x"}, {.devices = {1, 4}}), P()));
  EXPECT_EQ(by_device(y), (Blocks{{1, counted(5)}, {4, counted(5)}}));
  EXPECT_EQ(by_device(x), (Blocks{{0, counted(5)}, {1, counted(5)}, {2, counted(5)}}));
}

TEST(UserCases, U021_U022_U031_UnevenPartsGatherExactly) {
  NEED_DEVICES(4);
  const auto m = make_mesh({4}, {"x"}, {.devices = DeviceList{0, 1, 2, 3}});
  const auto x = mw::device_put(iota({5, 10}), NamedSharding(m, P("x"))), gathered = mw::reshard(x, P());
  EXPECT_EQ(mw::device_get(gathered).shape(), (mw::Shape{5, 10}));
  EXPECT_EQ(values(gathered), counted(50));
  EXPECT_EQ(values(x), counted(50));
  EXPECT_EQ(by_device(gathered), (Blocks{{0, counted(50)}, {1, counted(50)}, {2, counted(50)}, {3, counted(50)}}));
  const auto short_one = mw::device_put(mw::arange(3, mw::int64), NamedSharding(m, P("x")));
  EXPECT_EQ(wrong_numbers<std::int64_t>(short_one), 0);
  const auto host = mw::device_get(short_one);
  ASSERT_EQ(host.shape(), (mw::Shape{3}));
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(host.view<std::int64_t>()[i], i);
  EXPECT_EQ(mw::sum(short_one).item<std::int64_t>(), 3);
  for (const std::int64_t n : {2, 5, 9}) {
    const auto y = mw::device_put(mw::arange(n), NamedSharding(m, P("x")));
    EXPECT_EQ(wrong_shards(y), "");
    const auto shrunk = y[mw::Slice(1, n - 1)], padded = mw::pad(y, {{1, 1}});
    const auto s = mw::device_get(shrunk), p = mw::device_get(padded);
    EXPECT_EQ(s.size(), std::max<std::int64_t>(n - 2, 0));
    for (std::int64_t i = 0; i < s.size(); ++i) EXPECT_EQ(s.view<std::int32_t>()[i], i + 1);
    EXPECT_EQ(p.view<std::int32_t>()[0], 0);
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(p.view<std::int32_t>()[i + 1], i);
    EXPECT_EQ(p.view<std::int32_t>()[n + 1], 0);
  }
}

TEST(UserCases, U046_ReshardToItsOwnLayout) {
  NEED_DEVICES(2);
  const auto m = make_mesh({2}, {"x"}, {.devices = {0, 1}});
  auto x = mw::device_put(counting({7, 3}, mw::float32), NamedSharding(m, P("x")));
  const auto y = mw::reshard(x, P("x")), z = mw::device_put(x, NamedSharding(make_mesh({2}, {"x"}, {.devices = {0, 1}}), P("x")));
  for (const auto& same : {y, z}) {
    EXPECT_EQ(wrong_shards(same), "");
    EXPECT_TRUE(same.committed());
  }
  auto from = mw::device_put(counting({7, 3}, mw::float32), NamedSharding(m, P("x")));
  const auto to = mw::device_put(from, NamedSharding(make_mesh({2}, {"rows"}, {.devices = {0, 1}}), P("rows")));
  from = Array();
  EXPECT_EQ(wrong_shards(to), "") << "outlives what it was made from";
  const auto w = mw::device_put(z, z.sharding(), {.donate = true});
  EXPECT_TRUE(x.is_deleted());  // z is x: the same array
  EXPECT_EQ(wrong_shards(w), "");
  EXPECT_TRUE(w.committed());
}

TEST(UserCases, U053_UncommittedFollowsTheCommitted) {
  NEED_DEVICES(4);
  const auto m = make_mesh({4}, {"x"}, {.devices = {0, 1, 2, 3}});
  const auto x = mw::device_put(mw::zeros({40}), NamedSharding(m, P("x")));
  for (const auto& sum : {x + mw::ones({40}), mw::ones({40}) + x}) {
    EXPECT_EQ(sum.sharding().spec(), P("x"));
    EXPECT_TRUE(sum.committed());
    EXPECT_EQ(values(sum), Floats(40, 1.0f));
  }
}

TEST(UserCases, U054_NothingDividesByZero) {
  NEED_DEVICES(4);
  const auto m = make_mesh({4}, {"x"}, {.devices = {0, 1, 2, 3}});
  for (const auto& shape : {mw::Shape{0, 0}, mw::Shape{0, 5}, mw::Shape{8, 0}}) {
    const NamedSharding rows(m, P("x"));
    const auto x = mw::device_put(mw::zeros(shape), rows);
    EXPECT_EQ(rows.shard_shape(shape), (mw::Shape{shape[0] / 4, shape[1]}));
    for (const auto& shard : x.addressable_shards()) EXPECT_EQ(shard.data().shape(), (mw::Shape{shape[0] / 4, shape[1]}));
    EXPECT_EQ(mw::reshard(x, P(nullptr, "x")).shape(), shape);
    EXPECT_EQ(mw::sum(x).item<float>(), 0.0f);
  }
}

TEST(UserCases, U059_ShortSpecsPadAndLongOnesAreRefused) {
  NEED_DEVICES(2);
  const auto m = make_mesh({1, 2}, {"a", "b"}, {.devices = {0, 1}});
  const auto x = mw::device_put(iota({4, 6, 2}), NamedSharding(m, P("a", "b")));
  for (const auto& shard : x.addressable_shards()) EXPECT_EQ(shard.data().shape(), (mw::Shape{4, 3, 2}));
  const auto words = refusal([&] { mw::device_put(iota({16}), NamedSharding(m, P("a", "b"))); });
  EXPECT_TRUE(mentions(words, {"P('a', 'b')", "2 entries", "(16,)", "1 axis"})) << words;
  const auto scalar = refusal([&] { mw::device_put(iota({}), NamedSharding(m, P("a"))); });
  EXPECT_TRUE(mentions(scalar, {"P('a',)", "1 entry", "a scalar takes P()"})) << scalar;
}

TEST(UserCases, U065_MeshAndShardingAnewEachStep) {
  NEED_DEVICES(4);
  const auto before = mw::runtime_stats().communicators;
  for (int i = 0; i < 1000; ++i) {
    const auto m = make_mesh({4}, {"x"}, {.devices = {0, 1, 2, 3}});
    const auto x = mw::device_put(iota({16}), NamedSharding(m, P("x")));
    ASSERT_EQ(wrong_numbers<float>(x), 0) << i;
    if (i % 250 == 0) { EXPECT_EQ(mw::sum(x).item<float>(), 120.0f); }
  }
  EXPECT_LE(mw::runtime_stats().communicators - before, 2);
}

TEST(UserCases, U070_U071_GatherToOneAndToAll) {
  const auto m = make_mesh({mw::devices().size()}, {"x"});
  for (const auto& spec : {P("x"), P()}) {
    const auto x = mw::device_put(iota({10}), NamedSharding(m, spec));
    EXPECT_EQ(mw::device_get(x).shape(), (mw::Shape{10}));
    const auto root = mw::process_count() - 1;
    EXPECT_EQ(mw::device_get(x, root).size(), mw::process_index() == root ? 10 : 0);
  }
}

TEST(UserCases, U082_AMoveLosesNothing) {
  NEED_DEVICES(4);
  const auto m = make_mesh({4}, {"x"}, {.devices = {0, 1, 2, 3}});
  const Blocks quarters{{0, {0, 1, 2, 3}}, {1, {4, 5, 6, 7}}, {2, {8, 9, 10, 11}}, {3, {12, 13, 14, 15}}};
  const auto x = mw::device_put(iota({16}), NamedSharding(m, P("x")));
  const auto y = mw::device_put(x, NamedSharding(make_mesh({1}, {"x"}, {.devices = {0}}), P()));
  EXPECT_EQ(by_device(y), (Blocks{{0, counted(16)}}));
  EXPECT_EQ(by_device(x), quarters);
  EXPECT_EQ(by_device(mw::device_put(y, NamedSharding(m, P("x")))), quarters);
  EXPECT_EQ(by_device(x), quarters);
  EXPECT_EQ(by_device(mw::device_put(x, NamedSharding(m, P()))), (Blocks{{0, counted(16)}, {1, counted(16)}, {2, counted(16)}, {3, counted(16)}}));
  EXPECT_EQ(by_device(x), quarters);
}

TEST(UserCases, U095_DataOfOneRankOnly) {
  const auto m = make_mesh({mw::devices().size()}, {"x"});
  const auto root = mw::process_count() - 1;
  for (const std::int64_t n : {10, 12}) {
    mw::LocalArray data;
    if (mw::process_index() == root) {
      std::vector<float> host(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i) host[static_cast<std::size_t>(i)] = static_cast<float>(i);
      data = mw::LocalArray::from(std::span<const float>(host), {n});
    }
    const auto x = mw::device_put(mw::root_only(data, {n}, mw::float32, root), NamedSharding(m, P("x")));
    EXPECT_EQ(wrong_shards(x), "");
  }
  EXPECT_THROW(mw::device_put(mw::root_only(mw::LocalArray(mw::Shape{3}, mw::float32), {4}, mw::float32, root), NamedSharding(m, P("x"))), mw::Error);
}

TEST(UserCases, U105_MostPairsExchangeNothing) {
  NEED_DEVICES(4);
  const auto x = mw::device_put(iota({8}), NamedSharding(make_mesh({4}, {"x"}, {.devices = {0, 1, 2, 3}}), P("x")));
  const auto y = mw::device_put(x, NamedSharding(make_mesh({4}, {"x"}, {.devices = {1, 0, 3, 2}}), P("x")));
  EXPECT_EQ(by_device(y), (Blocks{{0, {2, 3}}, {1, {0, 1}}, {2, {6, 7}}, {3, {4, 5}}}));
}

TEST(UserCases, U033_U034_U106_U109_U110_OddShapesMove) {
  const auto n = mw::devices().size();
  const auto m = make_mesh({n}, {"x"});
  const std::vector<std::tuple<mw::Shape, mw::PartitionSpec, mw::PartitionSpec>> cases{
      {{6, 4, 9}, P("x"), P(nullptr, nullptr, "x")}, {{5, 4, 7}, P("x"), P(nullptr, nullptr, "x")}, {{4, 1}, P("x"), P()},
      {{1, 4}, P(nullptr, "x"), P()},                {{3, 8}, P(nullptr, "x"), P()},                {{3, 5}, P(nullptr, "x"), P()},
      {{0, 8}, P("x"), P(nullptr, "x")},             {{4, 0}, P(nullptr, "x"), P("x")},             {{2, 6}, P("x"), P(nullptr, "x")},
      {{2, 2, 2, 2, 2}, P(nullptr, "x"), P(nullptr, nullptr, nullptr, "x")}};
  for (const auto& [shape, from, to] : cases) {
    const auto x = mw::device_put(counting(shape, mw::float64), NamedSharding(m, from));
    EXPECT_EQ(wrong_shards(mw::reshard(x, to)), "") << mw::to_string(shape);
  }
}

// Boxes of three dimensions and more were packed in a wrong order.
TEST(UserCases, U110_ThreeAndFiveDimensionsOfTwoAxesGathered) {
  NEED_DEVICES(4);
  const auto m = make_mesh({2, 2}, {"y", "z"}, {.devices = {0, 1, 2, 3}});
  const std::vector<std::pair<mw::Shape, mw::PartitionSpec>> cases{{{2, 4, 4}, P(nullptr, "y", "z")}, {{2, 2, 2, 2, 2}, P(nullptr, "y", nullptr, "z")}};
  for (const auto& [shape, spec] : cases) {
    const auto x = mw::device_put(iota(shape), NamedSharding(m, spec));
    EXPECT_EQ(wrong_numbers<float>(x), 0) << mw::to_string(shape);
    const auto y = mw::reshard(x, P());
    EXPECT_EQ(y.shape(), shape);
    EXPECT_EQ(by_device(y), (Blocks{{0, counted(32)}, {1, counted(32)}, {2, counted(32)}, {3, counted(32)}}));
  }
}

TEST(UserCases, U093_RingOfLargeMovesCompletedInReverse) {
  const auto n = mw::devices().size();
  std::vector<Array> moved;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto x = mw::device_put(mw::full({375000}, static_cast<double>(i), mw::float64), mw::devices()[i]);
    moved.push_back(mw::device_put(x, mw::devices()[(i + 1) % n]));
  }
  for (std::int64_t i = n; i-- > 0;) {
    mw::block_until_ready(moved[static_cast<std::size_t>(i)]);
    for (const auto& shard : moved[static_cast<std::size_t>(i)].addressable_shards()) EXPECT_EQ(shard.data().view<double>()[374999], static_cast<double>(i));
  }
}

}  // namespace

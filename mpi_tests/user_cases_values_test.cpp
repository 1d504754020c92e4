// ranks: 1 2 3 4 6 8
// devices_per_rank: 8 4@2
// What users of such systems ran into, restated: values of operations on sharded arrays.
#include <gtest/gtest.h>

#include <cmath>

#include "support/need_devices.hpp"
#include "support/random_placement.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::Array, mw::DeviceList, mw::NamedSharding, mw::P, mw::Slice, mw::make_mesh;

namespace {

Array iota(const mw::Shape& shape, mw::Dtype dtype = mw::float32) { return mw::arange(shape.num_elements(), dtype).reshape(shape); }

template <class T>
std::vector<T> values(const Array& x) {
  const auto whole = mw::device_get(x);
  return {whole.view<T>().begin(), whole.view<T>().end()};
}

mw::Mesh line(std::int64_t n) { return make_mesh({n}, {"x"}, {.devices = mw::devices().first(n)}); }

TEST(UserCases, U015_ConcatenateDoesNotSumReplicas) {
  NEED_DEVICES(8);
  const auto m = make_mesh({4, 2}, {"data", "model"});
  const NamedSharding s(m, P("data"));
  const auto joined = mw::concatenate({mw::device_put(iota({4}), s), mw::device_put(mw::arange(100.0, 112.0), s)});
  EXPECT_EQ(values<float>(joined), (std::vector<float>{0, 1, 2, 3, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111}));
  EXPECT_EQ(mw::sum(mw::concatenate({mw::device_put(mw::ones({4}), s), mw::device_put(mw::ones({12}), s)})).item<float>(), 16.0f);
}

TEST(UserCases, U017_ShiftAcrossShardBorders) {
  NEED_DEVICES(8);
  for (const auto& sizes : {std::vector<std::int64_t>{8, 1}, std::vector<std::int64_t>{2, 4}}) {
    const auto m = make_mesh(sizes, {"a", "b"});
    const auto x = mw::device_put(iota({16, 16}), NamedSharding(m, P("a", "b")));
    const auto y = mw::concatenate({x[Slice(1, 16)], mw::full({1, 16}, 7.0)});
    const auto v = values<float>(y);
    EXPECT_EQ(v[7 * 16 + 3], 131.0f);
    EXPECT_EQ(v[14 * 16], 240.0f);
    EXPECT_EQ(v[15 * 16 + 5], 7.0f);
  }
}

TEST(UserCases, U026_ReshapeFitsAllRanksOrNone) {
  NEED_DEVICES(4);
  const auto y = mw::device_put(iota({6, 256}), NamedSharding(line(4), P("x"))).reshape({1536});
  const auto v = values<float>(y);
  for (std::size_t i = 0; i < v.size(); ++i) ASSERT_EQ(v[i], static_cast<float>(i));
  EXPECT_THROW(y.reshape({5, 300}), mw::ShapeError);
}

TEST(UserCases, U030_TwoAxesOfAMesh) {
  NEED_DEVICES(4);
  const auto m = make_mesh({2, 2}, {"x", "y"}, {.devices = mw::devices().first(4)});
  const auto x = mw::device_put(iota({4, 100, 64}, mw::int64), NamedSharding(m, P(nullptr, "x")));
  const auto y = mw::reshard(x, P(nullptr, "x", "y"));
  for (const auto& shard : y.addressable_shards()) {
    EXPECT_EQ(shard.data().shape(), (mw::Shape{4, 50, 32}));
    EXPECT_EQ(shard.data().view<std::int64_t>()[0], shard.index()[1].start * 64 + shard.index()[2].start);
  }
}

// Reductions of nothing failed in other ways on one rank than on many.
TEST(UserCases, U038_TheMaxOfNothingIsRefusedInWords) {
  for (const std::int64_t n : {std::int64_t{1}, mw::devices().size()}) {
    const auto x = mw::device_put(mw::zeros({0}), NamedSharding(line(n), P("x")));
    EXPECT_EQ(mw::sum(x).item<float>(), 0.0f);
    EXPECT_EQ(mw::prod(x).item<float>(), 1.0f);
    EXPECT_TRUE(std::isnan(mw::mean(x).item<float>()));
    const std::string ending = ": argument x is float32[0], and axis 0, which is reduced, has length 0. Give it elements, or where() a default";
    EXPECT_EQ(support::words<mw::ShapeError>([&] { mw::max(x); }), "max: zero-size array has no max" + ending);
    EXPECT_EQ(support::words<mw::ShapeError>([&] { mw::min(x); }), "min: zero-size array has no min" + ending);
    EXPECT_EQ(support::words<mw::ShapeError>([&] { mw::argmax(x); }), "argmax: zero-size array has no argmax" + ending);
    EXPECT_EQ(mw::sum(mw::device_put(mw::ones({3}), NamedSharding(line(n), P("x")))).item<float>(), 3.0f) << "after a refusal";
  }
}

TEST(UserCases, U045_U114_SmallPiecesAreRightToo) {
  const auto n = mw::devices().size();
  const auto x = mw::device_put(iota({12, 16}, mw::int64), NamedSharding(line(n), P("x")));
  EXPECT_EQ(mw::testing::wrong_shards(mw::device_put(mw::testing::counting({12, 16}, mw::int64), NamedSharding(line(n), P(nullptr, "x")))), "");
  const auto v = values<std::int64_t>(mw::reshard(x, P(nullptr, "x")));
  for (std::size_t i = 0; i < v.size(); ++i) ASSERT_EQ(v[i], static_cast<std::int64_t>(i));
}

TEST(UserCases, U050_ARegionAcrossBlockBorders) {
  NEED_DEVICES(4);
  const auto m = make_mesh({2, 2}, {"x", "y"}, {.devices = mw::devices().first(4)});
  const auto x = mw::device_put(iota({8, 8}, mw::int32), NamedSharding(m, P("x", "y")));
  EXPECT_EQ(values<std::int32_t>(x[{Slice(3, 6), Slice(2, 7)}]), (std::vector<std::int32_t>{26, 27, 28, 29, 30, 34, 35, 36, 37, 38, 42, 43, 44, 45, 46}));
  EXPECT_EQ(values<std::int32_t>(x[{Slice(6, {}, -3), Slice({}, {}, 4)}]), (std::vector<std::int32_t>{48, 52, 24, 28, 0, 4}));
  EXPECT_EQ(values<std::int32_t>(x[{-1, Slice(5, 7)}]), (std::vector<std::int32_t>{61, 62}));
  EXPECT_THROW(x[8], mw::IndexError);
}

TEST(UserCases, U062_NoReplicaOnTheWay) {
  NEED_DEVICES(8);
  const auto m = make_mesh({4, 2}, {"x", "y"});
  const auto x = mw::device_put(mw::zeros({128, 128, 128}), NamedSharding(m, P("y", nullptr, "x")));
  const auto y = mw::reshard(x, P(nullptr, {"x", "y"}));
  for (const auto& shard : y.addressable_shards()) EXPECT_EQ(shard.data().shape(), (mw::Shape{128, 16, 128}));
  EXPECT_EQ(mw::sum(y).item<float>(), 0.0f);
}

TEST(UserCases, U081_HostBuffersAreCopied) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{8}, std::size_t{100}, std::size_t{1000000}}) {
    std::vector<float> h(n);
    for (std::size_t i = 0; i < n; ++i) h[i] = static_cast<float>(i);
    const auto x = mw::device_put(h, NamedSharding(line(mw::devices().size()), P("x")));
    h.assign(n, -1.0f);
    h.clear();
    for (const auto& shard : x.addressable_shards())
      if (shard.data().size() > 0) { EXPECT_EQ(shard.data().view<float>()[0], static_cast<float>(shard.index()[0].start)); }
  }
}

TEST(UserCases, ReplicasOfAFloatSumAreEqualBitForBit) {
  const auto n = mw::devices().size();
  const auto x = mw::device_put(mw::random::normal(mw::random::key(3), {1001, 7}), NamedSharding(line(n), P("x")));
  for (const auto& total : {mw::sum(x), mw::sum(x, {0}), mw::mean(mw::exp(x), {0})}) {
    const auto first = mw::device_get(total, 0);
    const auto everywhere = mw::device_put(mw::root_only(first, total.shape(), total.dtype(), 0), NamedSharding(line(n), P()));
    for (std::size_t i = 0; i < total.addressable_shards().size(); ++i) {
      const auto mine = total.addressable_shards()[i].data().contiguous(), want = everywhere.addressable_shards()[i].data().contiguous();
      EXPECT_EQ(std::memcmp(mine.data(), want.data(), static_cast<std::size_t>(mine.nbytes())), 0);
    }
  }
}

}  // namespace

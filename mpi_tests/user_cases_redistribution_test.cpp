// ranks: 4 8
// devices_per_rank: 8 4@2
// variant: private ranks=4,8 MESHWISE_STORE=private
// What users of such systems ran into, restated: arrays that are placed, cut and moved. Cases that need more devices than there are are skipped.
#include <gtest/gtest.h>

#include "support/need_devices.hpp"
#include "support/random_placement.hpp"
#include "support/row_major_numbers.hpp"
#include "support/thrown_words.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape, mw::Slice, mw::make_mesh;
using mw::testing::counting, mw::testing::wrong_shards;
using support::line, support::numbered, support::wrong_numbers;

namespace {

std::vector<float> values(const Array& x) {
  const auto whole = mw::device_get(x);
  return {whole.view<float>().begin(), whole.view<float>().end()};
}

// Placing a plain array failed while a mesh context was active: what is ambient leaked into an explicit call.
TEST(UserCases, U006_NothingAmbientLeaksIntoAPut) {
  NEED_DEVICES(4);
  const auto m = make_mesh({2, 2}, {"x", "y"}, {.devices = {0, 1, 2, 3}});
  const auto placed = [&] {
    std::vector<std::int32_t> host(16);
    std::iota(host.begin(), host.end(), 0);
    return mw::device_put(mw::asarray(host, {4, 4}), NamedSharding(m, P("x", "y")));
  };
  const auto check = [&](const Array& x) {
    EXPECT_EQ(x.sharding(), NamedSharding(m, P("x", "y")));
    EXPECT_EQ(wrong_numbers<std::int32_t>(x), 0);
    for (const auto& shard : x.addressable_shards()) {
      if (shard.device().id != 2) continue;  // the device at (1, 0)
      const auto v = shard.data().view<std::int32_t>();
      EXPECT_EQ(std::vector<std::int32_t>(v.begin(), v.end()), (std::vector<std::int32_t>{8, 9, 12, 13}));
    }
  };
  check(placed());
  for (const std::int64_t id : {0, 3}) {
    const mw::default_device scope(mw::devices()[id]);
    check(placed());
  }
}

// Clearing every second row of a sharded array cleared all of them: the stride counted in the shard, not in the array.
TEST(UserCases, U018_EverySecondRowAndNoOther) {
  NEED_DEVICES(4);
  const NamedSharding rows(line(4), P("x"));
  const auto is_odd = mw::arange(4).reshape({4, 1}) % 2 != 0;
  const auto cleared = mw::where(is_odd, mw::device_put(mw::ones({4, 1024}), rows), 0.0f);
  const auto v = values(cleared);
  ASSERT_EQ(v.size(), 4096u);
  for (std::size_t k = 0; k < v.size(); ++k) ASSERT_EQ(v[k], k / 1024 % 2 == 0 ? 0.0f : 1.0f) << k;
  EXPECT_EQ(mw::sum(cleared).item<float>(), 2048.0f);

  const auto x = mw::device_put(numbered({4, 1024}, mw::float32), rows);
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
    const auto half = values(x[Slice(static_cast<std::int64_t>(first), 4, 2)]);
    ASSERT_EQ(half.size(), 2048u);
    for (std::size_t k = 0; k < half.size(); ++k) ASSERT_EQ(half[k], static_cast<float>((first + 2 * (k / 1024)) * 1024 + k % 1024));
  }
}

// A split that could not be was accepted and failed when the array was printed.
TEST(UserCases, U057_ABadSplitIsRefusedAtTheCall) {
  NEED_DEVICES(8);
  const auto m = make_mesh({8}, {"a"});
  const auto x = mw::device_put(counting({7, 1}, mw::float32), NamedSharding(m, P("a")));  // fewer rows than devices: a valid array here
  EXPECT_EQ(wrong_shards(x), "");
  std::int64_t covered = 0;
  for (const auto& shard : x.global_shards()) {
    EXPECT_LE(shard.index()[0].size(), 1);
    covered += shard.index()[0].size();
  }
  EXPECT_EQ(covered, 7);
  EXPECT_FALSE(mw::to_string(x).empty());
  EXPECT_EQ(mw::sum(x).item<float>(), 21.0f);

  const auto before = mw::runtime_stats().messages_sent;
  EXPECT_THROW(mw::device_put(x, NamedSharding(m, P(nullptr, nullptr, "a"))), mw::PlacementError);
  EXPECT_EQ(mw::runtime_stats().messages_sent, before) << "refused after a message";
  EXPECT_EQ(wrong_shards(mw::reshard(x, P())), "");
}

// Five devices could not be used at all.
TEST(UserCases, U058_OddDeviceCounts) {
  NEED_DEVICES(5);
  const NamedSharding rows(line(5), P("x"));
  const auto even = mw::device_put(numbered({10, 4}, mw::int32), rows);
  for (const auto& shard : even.addressable_shards()) {
    EXPECT_EQ(shard.data().shape(), (Shape{2, 4}));
    for (std::int64_t j = 0; j < 4 && shard.device().id == 4; ++j) EXPECT_EQ(shard.data().view<std::int32_t>()(1, j), 36 + j);
  }
  const auto uneven = mw::device_put(numbered({12, 4}, mw::int32), rows);
  EXPECT_EQ(wrong_numbers<std::int32_t>(uneven), 0);
  EXPECT_EQ(wrong_numbers<std::int32_t>(mw::reshard(uneven, P(nullptr, "x"))), 0);
  EXPECT_EQ(mw::sum(uneven).item<std::int32_t>(), 1128);
}

// A step that donates its state and keeps its batch, where both were one array at first, hung.
TEST(UserCases, U077_DonatedInALoopBesideWhatIsKept) {
  const auto n = mw::devices().size();
  const NamedSharding rows(line(n), P("x")), whole(line(n), P());
  const auto batch = mw::device_put(numbered({4}, mw::float32), rows);
  auto x = batch;
  for (int k = 0; k < 10; ++k) x = mw::device_put(x + batch, k % 2 == 0 ? whole : rows, {.donate = true});
  EXPECT_FALSE(batch.is_deleted());
  EXPECT_EQ(values(x), (std::vector<float>{0, 11, 22, 33}));

  const auto twin = batch;
  const auto moved = mw::device_put(twin, whole, {.donate = true});
  const auto text = support::words<mw::DonatedError>([&] { twin + batch; });
  EXPECT_NE(text.find("donated to device_put"), std::string::npos) << text;
  EXPECT_EQ(values(moved), (std::vector<float>{0, 1, 2, 3}));
}

}  // namespace

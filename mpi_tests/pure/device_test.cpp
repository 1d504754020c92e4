#include "meshwise/placement/device.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "meshwise/base/error.hpp"

namespace meshwise {
namespace {

using Ids = std::vector<std::int64_t>;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// Before any test asks for a world: a world, once known, stays.
const std::string before_the_world = message_of([] { devices(); });
const auto rank_before_the_world = detail::this_rank();

class DeviceListTest : public testing::Test {
 protected:
  void SetUp() override { detail::set_world(8, 1, 2); }
};

TEST_F(DeviceListTest, NobodyKnowsTheDevicesBeforeThereIsAnEnvironment) {
  EXPECT_NE(before_the_world.find("Environment"), std::string::npos) << before_the_world;
  EXPECT_EQ(rank_before_the_world, -1);
  EXPECT_EQ(detail::this_rank(), 2);
}

TEST_F(DeviceListTest, SlicesOfTheWorld) {
  const auto full = devices();
  EXPECT_EQ(full.size(), 8);
  EXPECT_EQ(full.first(4).ids(), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(full.last(2).ids(), (Ids{6, 7}));
  EXPECT_EQ(full.slice(2, 5).ids(), (Ids{2, 3, 4}));
  EXPECT_EQ(full.reversed().ids(), (Ids{7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(full.reversed().slice(1, 3).ids(), (Ids{6, 5}));
  EXPECT_EQ(full.pick({5, 0, 2}).ids(), (Ids{5, 0, 2}));
  EXPECT_EQ(full.pick({5, 0, 2}).reversed().first(2).ids(), (Ids{2, 0}));
  EXPECT_EQ(full.first(0).size(), 0);
  Ids seen;
  for (const auto device : full.last(2)) seen.push_back(device.id);
  EXPECT_EQ(seen, (Ids{6, 7}));
}

TEST_F(DeviceListTest, EqualListsAreEqualHoweverTheyWereMade) {
  const auto full = devices();
  EXPECT_EQ(full.first(3), (DeviceList{0, 1, 2}));
  EXPECT_EQ(full.reversed().last(2), (DeviceList{1, 0}));
  EXPECT_EQ(full.reversed().last(2).hash(), (DeviceList{1, 0}.hash()));
  EXPECT_EQ(full.pick({1, 3, 5}), (DeviceList{1, 3, 5}));
  EXPECT_EQ(DeviceList(full[3]), full.slice(3, 4));
  EXPECT_FALSE(full == full.reversed());
  EXPECT_FALSE((DeviceList{0, 2, 1} == DeviceList{0, 1, 2}));
  EXPECT_FALSE(full.first(3) == full.first(4));
  EXPECT_FALSE(DeviceList() == full);
  EXPECT_EQ(DeviceList(), DeviceList());
}

TEST_F(DeviceListTest, PositionsOfRunsAndOfAnyOrder) {
  for (const auto& ids : {Ids{0, 1, 2, 3}, Ids{7, 5, 3, 1}, Ids{5, 0, 2}, Ids{6}, Ids{}}) {
    const DeviceList list(ids);
    for (std::int64_t id = -2; id < 10; ++id) {
      const auto at = std::find(ids.begin(), ids.end(), id);
      const auto got = list.position_of(id);
      EXPECT_EQ(got.has_value(), at != ids.end()) << id;
      EXPECT_EQ(got.value_or(at - ids.begin()), at - ids.begin());
    }
  }
  EXPECT_EQ((DeviceList{3, 1, 3}.position_of(3)), 0);
  EXPECT_EQ((DeviceList{3, 1, 3}.repeated_id()), 3);
  EXPECT_EQ((DeviceList{3, 3}.repeated_id()), 3);
  EXPECT_FALSE((DeviceList{3, 1, 5}.repeated_id()));
}

TEST_F(DeviceListTest, RanksOwnConsecutiveDevices) {
  const auto list = DeviceList::virtual_devices(8, 4);
  EXPECT_EQ(list[6], (Device{6, 1, 2}));
  EXPECT_EQ(list.devices_per_rank(), 4);
  EXPECT_TRUE(list.last(4).all_on_rank(1));
  EXPECT_FALSE(list.all_on_rank(1));
  EXPECT_TRUE(list.pick({7, 4, 5}).all_on_rank(1));
  EXPECT_FALSE(list.pick({7, 3, 5}).all_on_rank(1));
  EXPECT_FALSE(list.first(0).all_on_rank(0));
  EXPECT_EQ(DeviceList(list[6]), list.slice(6, 7));
  // Device 6 of one rank each is not device 6 of four a rank; device 0 is the same.
  EXPECT_FALSE(list.slice(6, 7) == devices().slice(6, 7));
  EXPECT_EQ(list.slice(0, 1), devices().slice(0, 1));
}

TEST_F(DeviceListTest, RefusalsNameTheValues) {
  const auto full = devices();
  const auto has = [](const std::string& text, std::initializer_list<const char*> parts) {
    for (const auto* part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(message_of([&] { DeviceList{0, 8}; }), {"[0, 8]", "device 8", "0 to 7"});
  has(message_of([&] { DeviceList{-1}; }), {"device -1"});
  has(message_of([&] { full.first(4).pick({5}); }), {"device 5", "[0, 1, 2, 3]"});
  has(message_of([&] { full.first(9); }), {"0 to 9", "8"});
  has(message_of([&] { full.slice(3, 2); }), {"3 to 2"});
  has(message_of([&] { full[8]; }), {"position 8", "MESHWISE_DEVICES_PER_RANK"});
  EXPECT_THROW((DeviceList{0, 8}), PlacementError);
  EXPECT_THROW(full[8], IndexError);
  EXPECT_THROW(full.last(9), IndexError);
  EXPECT_THROW(DeviceList().reversed(), PlacementError);
  EXPECT_THROW(DeviceList::virtual_devices(4, 0), PlacementError);
}

TEST_F(DeviceListTest, Prints) {
  EXPECT_EQ(to_string(devices()), "[0, 1, 2, 3, 4, 5, 6, 7]");
  EXPECT_EQ(to_string(DeviceList{3}), "[3]");
  EXPECT_EQ(to_string(DeviceList{5, 0, 2}), "[5, 0, 2]");
  EXPECT_EQ(to_string(DeviceList()), "[]");
  EXPECT_EQ(to_string(devices()[3]), "CpuDevice(id=3)");
  EXPECT_EQ(to_string(DeviceList::virtual_devices(64)).find("..."), std::string::npos);
  EXPECT_EQ(to_string(DeviceList::virtual_devices(1 << 20)),
            "[0, 1, 2, 3, 4, 5, 6, 7, ..., 1048568, 1048569, 1048570, 1048571, 1048572, 1048573, 1048574, 1048575]");
}

// Millions of look-ups in lists of a million devices: only without a scan does this end within the test's time.
TEST_F(DeviceListTest, AMillionDevicesCostNothing) {
  const std::int64_t n = 1 << 20;
  const auto full = DeviceList::virtual_devices(n);
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < 1000000; ++i) {
    const auto half = full.slice(i % n, n).reversed();
    sum += half.position_of(n - 1).value() + half.size() + static_cast<std::int64_t>(half.hash() & 1);
  }
  EXPECT_GT(sum, 0);
  auto ids = full.ids();
  std::swap(ids[0], ids[5]);
  const auto shuffled = full.pick(ids);
  for (std::int64_t i = 0; i < 1000000; ++i) sum += shuffled.position_of(i % n).value();
  EXPECT_EQ(shuffled.position_of(0), 5);
}

TEST_F(DeviceListTest, TheIndexIsMadeOnceUnderThreads) {
  auto ids = devices().ids();
  std::swap(ids[1], ids[6]);
  for (int round = 0; round < 50; ++round) {
    const DeviceList list(ids);
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&] { wrong += list.position_of(6) != 1; });
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(wrong, 0);
  }
}

TEST_F(DeviceListTest, TheSlotBelongsToTheList) {
  const auto full = devices();
  int state = 0;
  full.runtime_slot() = &state;
  const auto copy = full;
  EXPECT_EQ(copy.runtime_slot(), &state);
  EXPECT_EQ(full.first(2).runtime_slot(), nullptr);
}

}  // namespace
}  // namespace meshwise

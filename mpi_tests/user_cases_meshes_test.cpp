// timeout: 180
// ranks: 2
// devices_per_rank: 4@2
// variant: few_groups ranks=8 MESHWISE_MAX_COMMUNICATORS=64
// What users of such systems ran into, restated: very many meshes, one after the other and all at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/row_major_numbers.hpp"

namespace mw = meshwise;
using mw::Array, mw::DeviceList, mw::Mesh, mw::NamedSharding, mw::P, mw::make_mesh;

namespace {

/// Whether this rank's own blocks of a sum all hold it.
bool holds(const Array& total, float wanted) {
  for (const auto& shard : total.addressable_shards())
    if (shard.data().size() != 1 || shard.data().view<float>()[0] != wanted) return false;
  return true;
}

/// 0 + 1 + ... + 11, over all devices of a mesh.
Array sum_on(const Mesh& mesh) { return mw::sum(mw::device_put(mw::arange(12.0), NamedSharding(mesh, P("x")))); }

// Each mesh had a communicator of its own that was never given back; after 32 or 65 thousand there were none left.
TEST(UserCases, U115_SeventyThousandMeshesEachUsedOnce) {
  const auto before = mw::runtime_stats().communicators;
  const DeviceList two{0, 1};
  std::int64_t wrong = 0;
  for (int i = 0, rounds = mw::devices().size() == 2 ? 70'000 : 700; i < rounds; ++i)
    wrong += holds(sum_on(make_mesh({2, 1}, {"x", "y" + std::to_string(i)}, {.devices = two})), 66.0f) ? 0 : 1;
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(mw::runtime_stats().communicators - before, 1);
}

// With no communicator left, making one more mesh hung.
TEST(UserCases, U117_ThreeThousandLiveMeshesOverTheSameDevices) {
  const auto before = mw::runtime_stats().communicators;
  std::vector<Mesh> meshes;
  for (int i = 0; i < 3000; ++i) meshes.push_back(make_mesh({mw::devices().size(), 1}, {"x", "y" + std::to_string(i)}));
  std::vector<Array> totals;
  for (const auto& mesh : meshes) totals.push_back(sum_on(mesh));
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < meshes.size(); ++i) {
    wrong += holds(totals[i], 66.0f) ? 0 : 1;
    wrong += totals[i].sharding().mesh() == meshes[i] ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(mw::runtime_stats().communicators - before, 1);
}

/// Ordered lists of devices, no two alike where there are enough of them; the same on all ranks.
std::vector<DeviceList> ordered_subsets(std::size_t count) {
  std::mt19937 engine(117);
  std::set<std::vector<std::int64_t>> seen;
  std::vector<DeviceList> lists;
  for (std::size_t tries = 0; lists.size() < count; ++tries) {
    auto ids = mw::devices().ids();
    std::shuffle(ids.begin(), ids.end(), engine);
    ids.resize(1 + engine() % ids.size());
    if (seen.insert(ids).second || tries > 20 * count) lists.emplace_back(ids);
  }
  return lists;
}

TEST(UserCases, U117_ThreeThousandLiveMeshesOverOtherDevicesOrOrders) {
  std::vector<Mesh> meshes;
  for (const auto& list : ordered_subsets(3000)) meshes.push_back(make_mesh({list.size()}, {"x"}, {.devices = list}));
  std::vector<Array> totals;
  for (const auto& mesh : meshes) totals.push_back(sum_on(mesh));
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < meshes.size(); ++i) {
    wrong += holds(totals[i], 66.0f) ? 0 : 1;
    wrong += totals[i].sharding().devices() == meshes[i].devices() ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0);
  const auto most = mw::setting("MESHWISE_MAX_COMMUNICATORS");
  EXPECT_LE(mw::runtime_stats().communicators, most.empty() ? 1024 : std::stoll(most));
}

}  // namespace

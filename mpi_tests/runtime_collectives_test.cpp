// Reductions in the group's order, the same bits everywhere; gathers; the groups' communicators and their cap.
// ranks: 1 2 3 4 6 8
// devices_per_rank: 8 2@2 3@2
// timeout: 120
// variant: messages ranks=3,4 MESHWISE_MAX_COMMUNICATORS=0
// variant: chunk64 ranks=4 MESHWISE_CHUNK_BYTES=64 MESHWISE_STORE=private
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// variant: nothread ranks=4 MESHWISE_PROGRESS_THREAD=off
// variant: private ranks=4 MESHWISE_STORE=private
// variant: nodes2 ranks=4 MESHWISE_NODE_SIZE=2
// variant: unchecked ranks=4 MESHWISE_CHECK=off
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

#include "support/runtime_calls.hpp"

namespace {

using namespace support;

// Neither commutative nor associative: any other order than the group's gives other bits.
void fold(std::byte* acc, const std::byte* in, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) {
    float a = 0, b = 0;
    std::memcpy(&a, acc + 4 * k, 4);
    std::memcpy(&b, in + 4 * k, 4);
    a = 0.7F * a + b;
    std::memcpy(acc + 4 * k, &a, 4);
  }
}

float value_of(std::int64_t device, std::int64_t element) {
  const auto bits = meshwise::detail::mix(static_cast<std::uint64_t>(device), static_cast<std::uint64_t>(element));
  return static_cast<float>(bits % 100003) / 977.0F;
}

bool same_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

void check_all_reduce(const DeviceList& list, std::int64_t count) {
  const Ticket ticket = enter("fold", list, static_cast<std::uint64_t>(count));
  std::vector<Device> group;
  std::vector<std::vector<float>> blocks;
  for (const Device& device : list) {
    group.push_back(device);
    if (device.rank != meshwise::process_index()) continue;
    auto& block = blocks.emplace_back(static_cast<std::size_t>(count));
    for (std::int64_t k = 0; k < count; ++k) block[static_cast<std::size_t>(k)] = value_of(device.id, k);
  }
  std::vector<meshwise::detail::LocalPart> mine;
  for (auto& block : blocks) mine.push_back({reinterpret_cast<std::byte*>(block.data())});
  if (mine.empty()) return;
  const auto shared = meshwise::detail::all_reduce(group, mine, count, sizeof(float), fold, ticket);
  std::vector<float> wanted(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k) {
    float acc = value_of(group[0].id, k);
    for (std::size_t d = 1; d < group.size(); ++d) acc = 0.7F * acc + value_of(group[d].id, k);
    wanted[static_cast<std::size_t>(k)] = acc;
  }
  if (shared) {
    const auto* const at = reinterpret_cast<const float*>(shared->data());
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), at, same_bits)) << count << " elements over " << to_string(list);
    return;
  }
  for (const auto& block : blocks) {
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), block.begin(), same_bits)) << count << " elements over " << to_string(list);
  }
}

DeviceList random_list(std::mt19937& random) {
  std::vector<std::int64_t> ids = meshwise::devices().ids();
  std::shuffle(ids.begin(), ids.end(), random);
  ids.resize(1 + random() % ids.size());
  return DeviceList(ids);
}

TEST(Collectives, AllReduceInTheGroupsOrder) {
  for (const std::int64_t count : {0, 1, 3, 100, 5000, 20011, 300000}) check_all_reduce(meshwise::devices(), count);
  std::mt19937 random(11);
  for (int round = 0; round < 25; ++round) {
    const std::int64_t counts[] = {1, 7, 130, 9000, 40000};
    check_all_reduce(random_list(random), counts[random() % 5]);
  }
}

TEST(Collectives, AllGather) {
  std::mt19937 random(12);
  for (int round = 0; round < 25; ++round) {
    const DeviceList list = round < 5 ? meshwise::devices() : random_list(random);
    const std::size_t sizes[] = {1, 8, 479, 480, 481, 5000, 300000};
    const std::size_t bytes = sizes[random() % 7];
    const Ticket ticket = enter("gather", list, bytes);
    std::vector<std::int64_t> ranks;
    for (const Device& device : list) {
      if (std::find(ranks.begin(), ranks.end(), device.rank) == ranks.end()) ranks.push_back(device.rank);
    }
    const auto me = meshwise::process_index();
    if (std::find(ranks.begin(), ranks.end(), me) == ranks.end()) continue;
    const std::vector<char> mine(bytes, static_cast<char>(me + 1));
    std::vector<char> all(bytes * ranks.size());
    meshwise::detail::all_gather(list, mine.data(), bytes, all.data(), ticket);
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      EXPECT_EQ(std::count(all.begin() + static_cast<std::ptrdiff_t>(k * bytes), all.begin() + static_cast<std::ptrdiff_t>((k + 1) * bytes),
                           static_cast<char>(ranks[k] + 1)),
                static_cast<std::ptrdiff_t>(bytes));
    }
  }
}

TEST(Collectives, TextsOfAnyLength) {
  const auto text_of = [](std::int64_t rank, std::size_t length) {
    return std::string(length * static_cast<std::size_t>(rank), static_cast<char>('a' + rank));
  };
  for (const std::size_t length : {0UL, 3UL, 400UL, 100000UL}) {
    const Ticket ticket = meshwise::detail::enter_world_call({.operation = "texts", .hash = length});
    const auto all = meshwise::detail::all_gather_text(text_of(meshwise::process_index(), length), ticket);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(meshwise::process_count()));
    for (std::size_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], text_of(static_cast<std::int64_t>(r), length));
  }
}

// U-065, U-115, U-117: communicators are made per ordered list of ranks, once, and never more than the cap.
TEST(Collectives, U065U115CommunicatorsAreShared) {
  const auto before = meshwise::runtime_stats().communicators;
  const auto devices = meshwise::devices();
  const DeviceList reversed = devices.reversed();
  const auto count = meshwise::process_count();
  const std::int64_t wanted = devices.size() * (devices.size() + 1) / 2;
  for (int k = 0; k < 200; ++k) {
    EXPECT_EQ(sum(reversed, "sum"), wanted);
    EXPECT_EQ(sum(DeviceList(reversed.ids()), "sum"), wanted);
  }
  const auto made = meshwise::runtime_stats().communicators - before;
  const bool capped = meshwise::setting("MESHWISE_MAX_COMMUNICATORS") == "0";
  EXPECT_LE(made, capped || count == 1 ? 0 : 1);
}

}  // namespace

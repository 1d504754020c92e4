// Who reads what of a checkpoint: every wanted element reaches every home, every block is read once, and by those who want it.
// internals: src
#include <gtest/gtest.h>

#include <map>
#include <meshwise/placement/sharding.hpp>
#include <random>

#include "plan/restore.hpp"
#include "plan/storage.hpp"

namespace {

using namespace meshwise;
using detail::ArrayToLoad;
using detail::BlockRun;
using detail::plan_restore;

constexpr std::int64_t block = 256, piece = 64;

NamedSharding on(std::vector<std::int64_t> sizes, std::vector<std::string> names, const PartitionSpec& spec) {
  return {make_mesh(sizes, names, {.devices = DeviceList::virtual_devices(8)}), spec};
}

struct Stored {
  std::vector<std::vector<detail::StoredPlace>> places;  // by array
  std::vector<BlockRun> runs;
};

// What a save by those shardings would leave: a run a writer, at an offset that is nobody's multiple.
Stored store(const std::vector<detail::ArrayToStore>& arrays) {
  const auto plan = detail::plan_storage(arrays, 8);
  Stored stored{std::vector<std::vector<detail::StoredPlace>>(arrays.size()), {}};
  constexpr std::int64_t begin = 2048;
  for (const auto& [array, writer, position, offset, box] : plan.pieces)
    stored.places[static_cast<std::size_t>(array)].push_back({writer, begin + offset, box});
  std::int64_t blocks = 0;
  for (std::int64_t writer = 0; writer < 8; ++writer)
    if (const auto bytes = plan.run_bytes[static_cast<std::size_t>(writer)][static_cast<std::size_t>(float32)]; bytes > 0) {
      stored.runs.push_back({writer, begin, bytes, blocks});
      blocks += (bytes + block - 1) / block;
    }
  return stored;
}

std::int64_t count(const Index& box) { return box.num_elements(); }

void check(const std::vector<ArrayToLoad>& arrays, const std::vector<BlockRun>& runs, std::int64_t ranks_per_node) {
  const auto plan = plan_restore(arrays, runs, {block, piece}, [&](std::int64_t rank) { return rank / ranks_per_node; });
  // Homes: each device's box is one's, on its own node.
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const auto shape = arrays[a].region.shape();
    std::map<std::int64_t, int> positions;
    for (const auto& home : plan.homes_of(static_cast<std::int64_t>(a))) {
      bool holds = false;
      for (const auto position : home.positions) {
        ++positions[position];
        const auto device = arrays[a].target.devices()[position];
        holds = holds || device.rank == home.rank;
        EXPECT_EQ(device.rank / ranks_per_node, home.rank / ranks_per_node);
        const auto box = arrays[a].target.index_at(shape, position);
        for (std::int64_t axis = 0; axis < box.ndim(); ++axis) {
          EXPECT_EQ(box[axis].start + arrays[a].region[axis].start, home.box[axis].start);
          EXPECT_EQ(box[axis].stop + arrays[a].region[axis].start, home.box[axis].stop);
        }
      }
      EXPECT_TRUE(holds);
    }
    for (std::int64_t position = 0; position < arrays[a].target.devices().size(); ++position)
      EXPECT_EQ(positions[position], arrays[a].target.index_at(shape, position).empty() ? 0 : 1);
  }
  // Tasks: all pieces of a block once, in order, by a reader that wants some of it; a round has one of each reader; each home gets each element once.
  std::map<std::pair<std::int64_t, std::int64_t>, int> pieces, rounds;
  struct Block {
    std::int64_t reader, next, bytes;
    bool is_shared, reader_wants, others_want, ended;
  };
  std::map<std::int64_t, Block> blocks;
  std::vector<std::int64_t> got(plan.homes.size(), 0);
  for (const auto& task : plan.tasks) {
    EXPECT_EQ(++pieces.try_emplace({task.file, task.offset}, 0).first->second, 1);
    const auto [found, is_new] = blocks.try_emplace(task.block, Block{task.reader, task.offset, 0, task.round >= 0, false, false, false});
    auto& of = found->second;
    EXPECT_EQ(is_new, task.begins_block);
    EXPECT_EQ(of.reader, task.reader);
    EXPECT_EQ(of.next, task.offset);
    EXPECT_EQ(of.is_shared, task.round >= 0);
    of.next += task.bytes;
    of.bytes += task.bytes;
    of.ended = of.ended || task.ends_block;
    EXPECT_LE(task.bytes, piece);
    EXPECT_TRUE(task.round < 0 || ++rounds[std::pair(task.reader, task.round)] == 1);
    for (const auto& segment : task.segments) {
      EXPECT_GE(segment.offset, task.offset);
      EXPECT_LE(segment.offset + count(segment.box) * 4, task.offset + task.bytes);
      for (std::size_t h = 0; h < plan.homes.size(); ++h) {
        const auto& home = plan.homes[h];
        if (home.array != segment.array) continue;
        const auto common = count(detail::intersection(home.box, segment.box));
        got[h] += common;
        if (common > 0) (home.rank == task.reader ? of.reader_wants : of.others_want) = true;
      }
    }
    EXPECT_LT(task.round, plan.rounds);
  }
  for (const auto& [number, of] : blocks) {
    EXPECT_TRUE(of.reader_wants);
    EXPECT_TRUE(of.ended);
    EXPECT_EQ(of.others_want, of.is_shared);
    for (const auto& run : runs) {
      const auto before = (number - run.first_block) * block;
      EXPECT_TRUE(before < 0 || before >= run.bytes || of.bytes == std::min(block, run.bytes - before));
    }
  }
  for (std::size_t h = 0; h < plan.homes.size(); ++h) EXPECT_EQ(got[h], count(plan.homes[h].box));
}

TEST(Restore, EveryElementReachesItsHome) {
  detail::set_world(8, 1, 0);
  std::mt19937 engine(6);
  const std::vector<NamedSharding> shardings{on({8}, {"x"}, P("x")),
                                             on({8}, {"x"}, P(nullptr, "x")),
                                             on({3}, {"x"}, P("x")),
                                             on({8}, {"x"}, P()),
                                             on({2, 4}, {"x", "y"}, P("y", "x")),
                                             on({2, 4}, {"x", "y"}, P("x")),
                                             on({2, 2, 2}, {"x", "y", "z"}, P({"z", "x"}))};
  const std::vector<Shape> shapes{{64, 48}, {3, 5}, {0, 4}, {1, 1000}, {100, 7}, {2, 2}};
  for (int round = 0; round < 60; ++round) {
    std::vector<detail::ArrayToStore> saved;
    for (int k = 0; k < 3; ++k) saved.push_back({shapes[engine() % shapes.size()], float32, shardings[engine() % shardings.size()]});
    const auto stored = store(saved);
    std::vector<ArrayToLoad> wanted;
    for (std::size_t k = 0; k < saved.size(); ++k) {
      auto region = Index::whole(saved[k].shape);
      if (engine() % 3 == 0)
        for (std::int64_t axis = 0; axis < 2; ++axis) {
          const auto n = saved[k].shape[axis];
          const auto a = static_cast<std::int64_t>(engine()) % (n + 1), b = static_cast<std::int64_t>(engine()) % (n + 1);
          region[axis] = {std::min(a, b), std::max(a, b)};
        }
      wanted.push_back({4, stored.places[k], region, shardings[engine() % shardings.size()]});
    }
    for (const std::int64_t ranks_per_node : {1, 2, 8}) check(wanted, stored.runs, ranks_per_node);
  }
}

TEST(Restore, TheSameLayoutExchangesNothing) {
  detail::set_world(8, 1, 0);
  const auto rows = on({8}, {"x"}, P("x"));
  const auto stored = store({{{800, 100}, float32, rows}});
  const std::vector<ArrayToLoad> wanted{{4, stored.places[0], Index::whole({800, 100}), rows}};
  const auto plan = plan_restore(wanted, stored.runs, {block, piece}, [](std::int64_t rank) { return rank; });
  EXPECT_EQ(plan.rounds, 0);
  EXPECT_EQ(plan.bytes_read, 800 * 100 * 4);
  for (const auto& task : plan.tasks) EXPECT_EQ(task.reader, task.file);
}

TEST(Restore, ReadersOfAnotherLayoutAreEven) {
  detail::set_world(8, 1, 0);
  const auto stored = store({{{800, 80}, float32, on({8}, {"x"}, P("x"))}});
  const std::vector<ArrayToLoad> wanted{{4, stored.places[0], Index::whole({800, 80}), on({8}, {"x"}, P(nullptr, "x"))}};
  const auto plan = plan_restore(wanted, stored.runs, {block, piece}, [](std::int64_t rank) { return rank; });
  std::map<std::int64_t, std::int64_t> read;
  for (const auto& task : plan.tasks) read[task.reader] += task.bytes;
  EXPECT_EQ(plan.bytes_read, 800 * 80 * 4);
  ASSERT_EQ(read.size(), 8u);
  for (const auto& [reader, bytes] : read) EXPECT_NEAR(static_cast<double>(bytes), 800 * 80 * 4 / 8, 2 * block);
}

}  // namespace

// Widened arrays, by carrying out every device's moves on a plain vector: each tile must hold its part and the rim, and the two ends of a move list it alike.
// internals: src
#include "plan/halo.hpp"
#include "support/pad_element.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace meshwise::detail {
namespace {

std::optional<PadMode> drawn_mode(std::mt19937& random) {
  const auto k = random() % 5;
  return k == 4 ? std::optional<PadMode>{} : static_cast<PadMode>(k);
}

TEST(Halo, RunsHoldTheElementsOfTheModes) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const auto n = static_cast<std::int64_t>(1 + random() % 7);
    const auto mode = drawn_mode(random);
    const auto start = static_cast<std::int64_t>(random() % 30) - 15;
    const Range wanted{start, start + static_cast<std::int64_t>(random() % 20)};
    std::vector<std::int64_t> got(static_cast<std::size_t>(wanted.size()), -1);
    for (const auto& run : runs_of(wanted, n, mode))
      for (std::int64_t k = 0; k < run.count; ++k) {
        ASSERT_EQ(got[static_cast<std::size_t>(run.to + k)], -1);
        got[static_cast<std::size_t>(run.to + k)] = run.first + k * run.step;
      }
    for (std::int64_t i = 0; i < wanted.size(); ++i)
      ASSERT_EQ(got[static_cast<std::size_t>(i)], meshwise::testing::pad_element(wanted.start + i, n, mode)) << n << " elements, position " << wanted.start + i;
  }
}

TEST(Halo, WindowsOfAnAxis) {
  const auto valid = window_axis(10, 3, 2, false), same = window_axis(10, 3, 2, true), none = window_axis(2, 3, 1, false);
  EXPECT_EQ(valid.count, 4);
  EXPECT_EQ(valid.before, 0);
  EXPECT_EQ(same.count, 5);
  EXPECT_EQ(same.before, 0);  // one element is wanted beyond the ends: the second one
  EXPECT_EQ(none.count, 0);
  EXPECT_EQ(window_axis(0, 3, 1, true).count, 0);
  const auto reach = window_reach(10, 2, valid);  // results 0, 1 and 2, 3
  EXPECT_EQ(reach.wanted[0], (Range{0, 5}));
  EXPECT_EQ(reach.wanted[1], (Range{4, 9}));
  EXPECT_FALSE(reach.stays_in_parts());
  EXPECT_TRUE(window_reach(12, 3, window_axis(12, 2, 2, false)).stays_in_parts());
}

struct Trial {
  std::vector<std::int64_t> lengths;
  std::vector<AxisSplit> splits;
  std::vector<Reach> reaches;
  std::optional<PadMode> mode;
  std::int64_t devices = 1;
};

// Device numbers are the mixed digits of the axes' parts, and of replicas.
Trial drawn(std::mt19937& random) {
  Trial t;
  t.mode = drawn_mode(random);
  const auto ndim = 1 + random() % 3;
  t.devices = static_cast<std::int64_t>(1 + random() % 2);  // replicas
  for (std::size_t d = 0; d < ndim; ++d) {
    const auto parts = static_cast<std::int64_t>(1 + random() % 4);
    AxisSplit split;
    split.parts = parts;
    split.digits.push_back({t.devices, parts, 1});
    t.devices *= parts;
    t.splits.push_back(split);
    const auto n = static_cast<std::int64_t>(random() % 9);
    t.lengths.push_back(n);
    if (t.mode || random() % 2 == 0)
      t.reaches.push_back(rim_reach(n, parts, static_cast<std::int64_t>(random() % 6), static_cast<std::int64_t>(random() % 6)));
    else
      t.reaches.push_back(window_reach(
          n, parts,
          window_axis(n, static_cast<std::int64_t>(1 + random() % 5), static_cast<std::int64_t>(1 + random() % 3), random() % 2 == 0)));
  }
  return t;
}

bool gives(const Trial& t, std::int64_t position, const HaloMove& move) {
  for (std::size_t d = 0; d < move.size(); ++d) {
    const auto own = part(t.splits[d].part_at(position), t.splits[d].parts, t.lengths[d]);
    bool some = false;
    for (std::int64_t k = 0; k < move[d].count; ++k)
      if (const auto i = move[d].first + k * move[d].step; i >= own.start && i < own.stop) some = true;
    if (!some) return false;
  }
  return true;
}

bool receives(const Trial& t, std::int64_t position, const HaloMove& move) {
  for (std::size_t d = 0; d < move.size(); ++d)
    if (move[d].to / t.reaches[d].longest() != t.splits[d].part_at(position)) return false;
  return true;
}

TEST(Halo, EveryTileIsMadeAndBothEndsKnowIt) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 100; ++trial) {
    const auto t = drawn(random);
    const auto ndim = t.lengths.size();
    std::vector<std::vector<HaloMove>> lists;
    for (std::int64_t p = 0; p < t.devices; ++p) lists.push_back(halo_moves(t.splits, t.reaches, t.mode, {&p, 1}));
    for (std::int64_t p = 0; p < t.devices; ++p) {
      const auto& mine = lists[static_cast<std::size_t>(p)];
      std::vector<std::int64_t> sizes, starts;
      std::int64_t count = 1;
      for (std::size_t d = 0; d < ndim; ++d) {
        const auto& wanted = t.reaches[d].wanted[static_cast<std::size_t>(t.splits[d].part_at(p))];
        sizes.push_back(wanted.size());
        starts.push_back(wanted.start);
        count *= wanted.size();
      }
      // What the tile holds: its elements' coordinates, found by walking through the moves.
      std::int64_t found = 0;
      for (const auto& move : mine) {
        ASSERT_TRUE(gives(t, p, move) || receives(t, p, move)) << "trial " << trial << ": a move that is none of device " << p;
        if (!receives(t, p, move)) continue;
        std::int64_t elements = 1;
        for (std::size_t d = 0; d < ndim; ++d) {
          elements *= move[d].count;
          for (std::int64_t k = 0; k < move[d].count; ++k) {
            const auto inside = move[d].to + k - t.splits[d].part_at(p) * t.reaches[d].longest();
            ASSERT_LT(inside, sizes[d]);
            ASSERT_EQ(move[d].first + k * move[d].step, meshwise::testing::pad_element(starts[d] + inside, t.lengths[d], t.mode));
          }
        }
        found += elements;
      }
      std::int64_t there = 1;
      for (std::size_t d = 0; d < ndim; ++d) {
        std::int64_t along = 0;
        for (std::int64_t i = 0; i < sizes[d]; ++i) along += meshwise::testing::pad_element(starts[d] + i, t.lengths[d], t.mode) >= 0;
        there *= along;
      }
      ASSERT_EQ(found, there) << "trial " << trial << ", device " << p;
      for (std::int64_t q = 0; q < t.devices; ++q) {
        const auto concerns = [&](const HaloMove& m) {
          return (gives(t, p, m) && receives(t, q, m)) || (gives(t, q, m) && receives(t, p, m));
        };
        std::vector<HaloMove> a, b;
        std::ranges::copy_if(mine, std::back_inserter(a), concerns);
        std::ranges::copy_if(lists[static_cast<std::size_t>(q)], std::back_inserter(b), concerns);
        ASSERT_TRUE(std::ranges::equal(a, b, [](const HaloMove& x, const HaloMove& y) { return std::ranges::equal(x, y); }))
            << "trial " << trial << ": devices " << p << " and " << q << " differ in the moves between them";
      }
    }
  }
}

// A 4 by 2 mesh, a rim of one element: a device inside lacks its two rows and one column, and the corners.
TEST(Halo, OnlyTheRimComesFromOthers) {
  AxisSplit rows, columns;
  rows.parts = 4;
  rows.digits.push_back({2, 4, 1});
  columns.parts = 2;
  columns.digits.push_back({1, 2, 1});
  const AxisSplit splits[] = {rows, columns};
  const Reach reaches[] = {rim_reach(400, 4, 1, 1), rim_reach(200, 2, 1, 1)};
  const std::int64_t position = 2;  // part (1, 0)
  std::int64_t received = 0;
  for (const auto& move : halo_moves(splits, reaches, {}, {&position, 1}))
    if (move[0].to / 102 == 1 && move[1].to / 102 == 0) received += move[0].count * move[1].count;
  EXPECT_EQ(received - 100 * 100, 2 * 100 + 100 + 2);
}

}  // namespace
}  // namespace meshwise::detail

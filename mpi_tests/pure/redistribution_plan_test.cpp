// Plans as text and in numbers: what one can check by hand, and what users of such systems ran into.
#include <gtest/gtest.h>

#include <limits>

#include "meshwise/base/error.hpp"
#include "meshwise/plan/redistribution.hpp"

namespace meshwise {
namespace {

DeviceList all(std::int64_t count, std::int64_t devices_per_rank = 1) { return DeviceList::virtual_devices(count, devices_per_rank); }

Mesh mesh(const std::vector<std::int64_t>& sizes, const std::vector<std::string>& names, const DeviceList& devices) {
  return make_mesh(sizes, names, {.devices = devices});
}

std::string plan_text(const Movement& movement, const Device& device, const Topology& topology = {}) {
  return to_string(plan_device(movement, topology, device));
}

// The worked example of src/plan/redistribution.cpp.
TEST(RedistributionPlan, WorkedExample) {
  const auto m = mesh({2, 2}, {"x", "y"}, all(4));
  const auto movement = Movement::reshard(NamedSharding(m, P("x")), NamedSharding(m, P(none, "y")), Shape{4, 6});
  EXPECT_EQ(to_string(movement, {}),
            "device 0 <- 0 [0:2, 0:3] copy\n"
            "device 0 <- 2 [2:4, 0:3] send\n"
            "device 1 <- 1 [0:2, 3:6] copy\n"
            "device 1 <- 3 [2:4, 3:6] send\n"
            "device 2 <- 2 [2:4, 0:3] copy\n"
            "device 2 <- 1 [0:2, 0:3] send\n"
            "device 3 <- 3 [2:4, 3:6] copy\n"
            "device 3 <- 0 [0:2, 3:6] send\n");
  EXPECT_EQ(plan_text(movement, all(4)[3]),
            "device 3 <- 3 [2:4, 3:6] copy\n"
            "device 3 <- 0 [0:2, 3:6] send\n"
            "device 3 -> 1 [2:4, 3:6] send\n");
}

TEST(RedistributionPlan, DevicesOfOneProcessShareABlock) {
  const auto devices = all(8, 4);
  const auto m = mesh({4, 2}, {"x", "y"}, devices);
  const auto movement = Movement::reshard(NamedSharding(m, P("x")), NamedSharding(m, P(none, "y")), Shape{8, 4});
  EXPECT_EQ(plan_text(movement, devices[0]),
            "device 0 <- 0 [0:2, 0:2] copy\n"
            "device 0 <- 2 [2:4, 0:2] copy\n"
            "device 0 <- 4 [4:6, 0:2] send\n"
            "device 0 <- 6 [6:8, 0:2] send\n"
            "device 0 -> 4 [0:2, 0:2] send\n"
            "device 0 -> 5 [0:2, 2:4] send\n");
  EXPECT_EQ(plan_text(movement, devices[2]),
            "device 2 <- 0 [0:8, 0:2] hand_over its new block\n"
            "device 2 -> 4 [2:4, 0:2] send\n"
            "device 2 -> 5 [2:4, 2:4] send\n");
  const Topology arena{.ranks_per_node = 2, .node_shares_memory = true};
  EXPECT_EQ(plan_text(movement, devices[0], arena),
            "device 0 <- 0 [0:2, 0:2] copy\n"
            "device 0 <- 2 [2:4, 0:2] copy\n"
            "device 0 <- 4 [4:6, 0:2] send\n"
            "device 0 <- 6 [6:8, 0:2] send\n"
            "device 0 -> 4 [0:8, 0:2] hand_over its new block\n"
            "device 0 -> 6 [0:8, 0:2] hand_over its new block\n");
}

TEST(RedistributionPlan, ABlockThatIsThereIsKept) {
  const auto devices = all(4, 2);
  const auto m = mesh({2, 2}, {"x", "y"}, devices), back = mesh({2, 2}, {"x", "y"}, devices.reversed());
  const NamedSharding rows(m, P("x")), rows_back(back, P("x"));
  EXPECT_EQ(to_string(Movement::reshard(rows, rows, Shape{4, 4}), {}),
            "device 0 <- 0 [0:2, 0:4] alias\ndevice 1 <- 1 [0:2, 0:4] alias\n"
            "device 2 <- 2 [2:4, 0:4] alias\ndevice 3 <- 3 [2:4, 0:4] alias\n");
  // Only device 2 holds it; 2 and 3 are one process.
  EXPECT_EQ(to_string(Movement::reshard(SingleDeviceSharding(devices[2]), rows_back, Shape{0, 4}), {}), "");
  EXPECT_EQ(to_string(Movement::reshard(SingleDeviceSharding(devices[2]), NamedSharding(m, P()), Shape{2}), {}),
            "device 0 <- 2 [0:2] send\ndevice 1 <- 0 [0:2] hand_over its new block\n"
            "device 2 <- 2 [0:2] alias\ndevice 3 <- 2 [0:2] hand_over\n");
}

TEST(RedistributionPlan, ViewsRegionsAndUnits) {
  const auto devices = all(2);
  const auto m = mesh({2}, {"x"}, devices);
  const NamedSharding split(m, P("x"));
  // x[7::-2] of 8 elements into the middle of 6: coordinates 0..3 are elements 7, 5, 3, 1.
  Movement movement{{split, Shape{8}, {{0, 7, -2}}}, {split, Shape{6}, {{0, 1, 1}}}, Shape{4}};
  EXPECT_EQ(to_string(movement, {}),
            "device 0 <- 1 [0:2] send\n"
            "device 1 <- 0 [2:4] send\n");
  // Transposed: rows of the source are columns of the target.
  movement = {{split, Shape{4, 2}}, {split, Shape{2, 4}, {{1}, {0}}}, Shape{4, 2}};
  EXPECT_EQ(to_string(movement, {}),
            "device 0 <- 0 [0:2, 0:1] copy\ndevice 0 <- 1 [2:4, 0:1] send\n"
            "device 1 <- 1 [2:4, 1:2] copy\ndevice 1 <- 0 [0:2, 1:2] send\n");
  // (3,2) by rows, flattened: units of 2 are never cut, so device 1 has rows 1 and 2.
  movement = {{split, Shape{6}, {}, {2}}, {split, Shape{6}}, Shape{6}};
  EXPECT_EQ(movement.source.box_at(1), (Index{{2, 6}}));
  EXPECT_EQ(to_string(movement, {}), "device 0 <- 0 [0:2] copy\ndevice 0 <- 1 [2:3] send\ndevice 1 <- 1 [3:6] copy\n");
  // x[3] of (4,2) by rows: only device 1 has row 3.
  movement = {{split, Shape{4, 2}, {{1}}, {}, {3, 0}}, {split, Shape{2}}, Shape{2}};
  EXPECT_EQ(to_string(movement, {}), "device 0 <- 1 [0:1] send\ndevice 1 <- 1 [1:2] copy\n");
}

TEST(RedistributionPlan, AMovementThatLeavesItsArrayIsRefused) {
  const auto m = mesh({2}, {"x"}, all(2));
  const NamedSharding split(m, P("x"));
  const auto text = [&](const End& source) {
    try {
      plan_device({source, {split, Shape{4}}, Shape{4}}, {}, all(2)[0]);
    } catch (const ShapeError& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(text({split, Shape{6}, {{0, 1, 2}}}),
            "redistribution: a view takes 4 elements of axis 0 from 1 in steps of 2, but the source array has shape (6,)");
  EXPECT_EQ(text({split, Shape{4}, {{1}}}), "redistribution: a view names axis 1, but the source array has shape (4,)");
  EXPECT_EQ(
      text({split, Shape{4}, {{0}, {0}}}),
      "redistribution: a movement of extent (4,) needs one view for each of its axes and was given 2, but the source array has shape (4,)");
  EXPECT_EQ(text({split, Shape{4, 2}}),
            "redistribution: no view names axis 1, which is taken at no index, but the source array has shape (4, 2)");
  EXPECT_EQ(text({split, Shape{4}, {}, {3}}), "redistribution: axis 0 was to be runs of 3, but the source array has shape (4,)");
  EXPECT_THROW(plan_device(Movement::reshard(split, split, Shape{}), {}, all(2)[0]), PlacementError);
}

TEST(RedistributionPlan, U005_PositionsAreNotIds) {
  const auto six = all(6);
  const auto m = mesh({3}, {"x"}, six.pick({5, 0, 2})), other = mesh({3}, {"x"}, six.pick({0, 2, 5}));
  const NamedSharding x(m, P("x"));
  EXPECT_EQ(x.index_at(Shape{6}, 0), (Index{{0, 2}}));
  EXPECT_EQ(to_string(Movement::reshard(x, NamedSharding(m, P()), Shape{6}), {}),
            "device 5 <- 5 [0:2] copy\ndevice 5 <- 0 [2:4] send\ndevice 5 <- 2 [4:6] send\n"
            "device 0 <- 0 [2:4] copy\ndevice 0 <- 2 [4:6] send\ndevice 0 <- 5 [0:2] send\n"
            "device 2 <- 2 [4:6] copy\ndevice 2 <- 5 [0:2] send\ndevice 2 <- 0 [2:4] send\n");
  EXPECT_EQ(to_string(Movement::reshard(x, NamedSharding(other, P("x")), Shape{6}), {}),
            "device 0 <- 5 [0:2] send\ndevice 2 <- 0 [2:4] send\ndevice 5 <- 2 [4:6] send\n");
}

TEST(RedistributionPlan, U013_ReplicatedToReplicatedOnOverlappingMeshes) {
  const auto six = all(6);
  const NamedSharding from(mesh({3}, {"x"}, six.first(3)), P()), to(mesh({2}, {"x"}, six.pick({1, 4})), P());
  const auto movement = Movement::reshard(from, to, Shape{5});
  EXPECT_EQ(to_string(movement, {}), "device 1 <- 1 [0:5] alias\ndevice 4 <- 1 [0:5] send\n");
  for (const auto idle : {0, 2, 3, 5}) EXPECT_EQ(plan_text(movement, six[idle]), "") << idle;
}

TEST(RedistributionPlan, U030_EachAxisHasItsOwnSizes) {
  const auto devices = all(4);
  const auto m = mesh({2, 2}, {"x", "y"}, devices);
  const auto movement = Movement::reshard(NamedSharding(m, P(none, "x")), NamedSharding(m, P(none, "x", "y")), Shape{4, 100, 64});
  std::int64_t elements = 0;
  for (const auto device : devices)
    for (const auto& piece : plan_device(movement, {}, device).receives) {
      EXPECT_EQ(piece.box.shape(), (Shape{4, 50, 32}));
      EXPECT_EQ(piece.source, device);
      elements += piece.box.num_elements();
    }
  EXPECT_EQ(elements, 25600);
  const auto first = movement.target.box_at(3);
  EXPECT_EQ((first[0].start * 100 + first[1].start) * 64 + first[2].start, 3232);
}

TEST(RedistributionPlan, U049_OneMessageAPeer) {
  const auto devices = all(4);
  const auto m = mesh({4}, {"x"}, devices);
  const auto movement = Movement::reshard(NamedSharding(m, P("x")), NamedSharding(m, P(none, "x")), Shape{1024, 1024});
  for (const auto device : devices) {
    const auto cost = cost_of(plan_device(movement, {}, device), 4);
    EXPECT_EQ(cost.messages, 3);
    EXPECT_EQ(cost.bytes_sent, 3 * 1024 * 1024 / 4);  // 3/4 of a shard of 1 MiB
    EXPECT_EQ(cost.bytes_copied, 1024 * 1024 / 4);
  }
}

TEST(RedistributionPlan, U051_PairsBeyond32Bits) {
  const auto devices = all(4);
  const auto m = mesh({4}, {"x"}, devices);
  const auto movement = Movement::reshard(NamedSharding(m, P("x")), NamedSharding(m, P(none, "x")), Shape{65536, 65537});
  std::int64_t largest = 0, total = 0;
  for (const auto device : devices)
    for (const auto& piece : plan_device(movement, {}, device).receives) {
      const auto bytes = piece.box.num_elements() * 8;
      EXPECT_GT(bytes, 0);
      largest = std::max(largest, bytes);
      total += bytes;
    }
  EXPECT_EQ(largest, 2147614720);
  EXPECT_GT(largest, std::numeric_limits<int>::max());
  EXPECT_EQ(total, std::int64_t{65536} * 65537 * 8);
  EXPECT_EQ(total_cost(movement, {}, 8).bytes_sent, total - total / 4);
}

TEST(RedistributionPlan, U062_NoReplicaOnTheWay) {
  const auto devices = all(8);
  const auto m = mesh({4, 2}, {"x", "y"}, devices);
  for (const std::int64_t n : {16, 256}) {
    const Shape shape{n, n, n};
    const auto movement = Movement::reshard(NamedSharding(m, P("y", none, "x")), NamedSharding(m, P(none, {"x", "y"})), shape);
    const auto shard = n * n * n / 8 * 4;
    for (std::int64_t k = 0; k < 8; ++k) {
      const auto plan = plan_device(movement, {}, devices[k]);
      std::int64_t arrives = 0;
      for (const auto& piece : plan.receives) arrives += piece.box.num_elements() * 4;
      EXPECT_EQ(movement.target.box_at(k), (Index{{0, n}, {k * n / 8, (k + 1) * n / 8}, {0, n}}));
      EXPECT_EQ(arrives, shard);  // with the old shard, two of them: nothing is held that is not wanted
      EXPECT_EQ(cost_of(plan, 4).bytes_sent, shard / 8 * 7);
    }
    const auto cost = total_cost(movement, {}, 4);
    EXPECT_EQ(cost.bytes_sent, cost.bytes_lower_bound);
    EXPECT_EQ(cost.messages, 8 * 7);
  }
}

TEST(RedistributionPlan, U111_OffsetsBeyond32Bits) {
  const auto devices = all(6);
  const NamedSharding five(mesh({5}, {"x"}, devices.first(5)), P("x"));
  const auto movement = Movement::reshard(five, SingleDeviceSharding(devices[5]), Shape{3000000000});
  const auto plan = plan_device(movement, {}, devices[5]);
  ASSERT_EQ(plan.receives.size(), 5U);
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(plan.receives[static_cast<std::size_t>(i)].source, devices[i]);
    EXPECT_EQ(plan.receives[static_cast<std::size_t>(i)].box, (Index{{i * 600000000, (i + 1) * 600000000}}));
  }
  EXPECT_EQ(plan.receives.back().box[0].start, 2400000000);
}

}  // namespace
}  // namespace meshwise

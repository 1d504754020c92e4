#include "meshwise/placement/sharding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <random>

#include "meshwise/base/error.hpp"

namespace meshwise {
namespace {

// The rule by its definition, axis by axis and device by device: the oracle of this file.
struct Naive {
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<std::size_t>> spec;  // mesh axes of each array axis, first is major

  std::int64_t devices() const { return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>()); }

  Index box(const Shape& shape, std::int64_t position) const {
    std::vector<std::int64_t> coordinates(sizes.size());
    for (auto a = sizes.size(); a-- > 0; position /= sizes[a]) coordinates[a] = position % sizes[a];
    PerAxis<Range> ranges;
    for (std::int64_t d = 0; d < shape.ndim(); ++d) {
      std::int64_t tile = 0, tiles = 1;
      if (d < static_cast<std::int64_t>(spec.size()))
        for (const auto a : spec[static_cast<std::size_t>(d)]) {
          tile = tile * sizes[a] + coordinates[a];
          tiles *= sizes[a];
        }
      ranges.push_back({tile * shape[d] / tiles, (tile + 1) * shape[d] / tiles});
    }
    return Index(ranges);
  }

  NamedSharding sharding(const DeviceList& devices) const {
    std::vector<std::string> names;
    for (std::size_t a = 0; a < sizes.size(); ++a) names.push_back("m" + std::to_string(a));
    std::vector<SpecEntry> entries;
    for (const auto& axes : spec) {
      std::vector<std::string> entry;
      for (const auto a : axes) entry.push_back(names[a]);
      entries.emplace_back(entry);
    }
    return {make_mesh(sizes, names, {.devices = devices}), PartitionSpec(entries)};
  }
};

std::uint64_t below(std::mt19937_64& random, std::uint64_t n) { return random() % n; }

Naive random_naive(std::mt19937_64& random, std::vector<std::int64_t> sizes, std::size_t ndim) {
  Naive naive{std::move(sizes), std::vector<std::vector<std::size_t>>(ndim)};
  std::vector<std::size_t> order(naive.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  for (const auto a : order)
    if (const auto d = below(random, ndim + 1); d < ndim) naive.spec[d].push_back(a);
  return naive;
}

std::vector<std::int64_t> random_sizes(std::mt19937_64& random, std::int64_t devices) {
  std::vector<std::int64_t> sizes;
  while (devices > 1 || sizes.empty() || below(random, 4) == 0) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = 1; d <= devices; ++d)
      if (devices % d == 0) divisors.push_back(d);
    sizes.push_back(divisors[below(random, divisors.size())]);
    devices /= sizes.back();
  }
  return sizes;
}

class ShardingTest : public testing::Test {
 protected:
  void SetUp() override { detail::set_world(24, 1, 0); }
};

TEST_F(ShardingTest, AgreesWithTheDefinitionOnRandomMeshesSpecsAndShapes) {
  const std::int64_t lengths[] = {0, 1, 2, 3, 5, 7, 8, 12, 13, 24};
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto ndim = below(random, 4);
    const auto naive = random_naive(random, random_sizes(random, static_cast<std::int64_t>(below(random, 24)) + 1), ndim);
    Shape shape;
    for (std::size_t d = 0; d < ndim; ++d) shape.push_back(lengths[below(random, std::size(lengths))]);
    auto ids = devices().ids();
    if (seed % 2 == 0) std::shuffle(ids.begin(), ids.end(), random);
    const auto sharding = naive.sharding(DeviceList(ids));
    const auto map = sharding.devices_indices_map(shape);
    ASSERT_EQ(map.size(), static_cast<std::size_t>(naive.devices()));
    std::vector<std::int64_t> largest(ndim, 0);
    bool replicated = true;
    for (std::size_t p = 0; p < map.size(); ++p) {
      const auto position = static_cast<std::int64_t>(p);
      const auto want = naive.box(shape, position);
      ASSERT_EQ(map[p].first.id, ids[p]);
      ASSERT_EQ(map[p].second, want);
      ASSERT_EQ(sharding.index_at(shape, position), want);
      ASSERT_EQ(sharding.shard_shape(shape, map[p].first), want.shape());
      std::int64_t earlier = 0;
      for (std::size_t q = 0; q < p; ++q) earlier += map[q].second == want;
      ASSERT_EQ(sharding.replica_id(shape, position), earlier) << to_string(sharding) << " " << to_string(shape) << " at " << p;
      for (std::size_t d = 0; d < ndim; ++d) largest[d] = std::max(largest[d], want.shape()[static_cast<std::int64_t>(d)]);
      replicated = replicated && naive.box(Shape(std::vector<std::int64_t>(ndim, 24)), position) ==
                                     Index::whole(Shape(std::vector<std::int64_t>(ndim, 24)));
    }
    ASSERT_EQ(sharding.shard_shape(shape), Shape(largest));
    ASSERT_EQ(sharding.is_fully_replicated(), replicated);
  }
}

TEST_F(ShardingTest, EquivalenceIsEqualityOfEveryBox) {
  int equivalent = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::int64_t counts[] = {1, 2, 4, 6, 8, 12, 16, 24};
    const auto n = counts[below(random, std::size(counts))];
    const auto ndim = below(random, 3) + 1;
    const auto a = random_naive(random, random_sizes(random, n), ndim), b = random_naive(random, random_sizes(random, n), ndim);
    // With lengths that every number of parts up to n divides, different parts are different boxes.
    const Shape shape(std::vector<std::int64_t>(ndim, 2 * n));
    bool want = true;
    for (std::int64_t p = 0; p < n && want; ++p) want = a.box(shape, p) == b.box(shape, p);
    const auto left = a.sharding(devices()), right = b.sharding(devices());
    ASSERT_EQ(left.is_equivalent_to(right, static_cast<std::int64_t>(ndim)), want) << to_string(left) << " " << to_string(right);
    ASSERT_EQ(right.is_equivalent_to(left, static_cast<std::int64_t>(ndim)), want);
    equivalent += want;
  }
  EXPECT_GT(equivalent, 1000);
}

TEST_F(ShardingTest, EquivalentAcrossMeshesNotAcrossOrders) {
  const auto m = make_mesh({4, 2}, {"data", "model"});
  const auto flat = make_mesh({8}, {"all"});
  const auto s = NamedSharding(m, P({"data", "model"}));
  EXPECT_TRUE(s.is_equivalent_to(NamedSharding(flat, P("all")), 2));
  EXPECT_FALSE(s == NamedSharding(flat, P("all")));
  EXPECT_FALSE(NamedSharding(m, P({"model", "data"})).is_equivalent_to(NamedSharding(flat, P("all")), 2));
  EXPECT_FALSE(s.is_equivalent_to(NamedSharding(make_mesh({8}, {"all"}, {.devices = devices().first(8).reversed()}), P("all")), 2));
  EXPECT_TRUE(NamedSharding(m, P("data")).is_equivalent_to(NamedSharding(m, P("data", none)), 2));
  EXPECT_FALSE(NamedSharding(m, P("data")) == NamedSharding(m, P("data", none)));
  EXPECT_FALSE(NamedSharding(m, P()) == NamedSharding(make_mesh({4, 2}, {"data", "model"}, {.axis_types = AxisType::Explicit}), P()));
  EXPECT_TRUE(NamedSharding(m, P("data")) == NamedSharding(make_mesh({4, 2}, {"data", "model"}), P("data")));
  EXPECT_EQ(NamedSharding(m, P("data")).hash(), NamedSharding(m, P("data")).hash());
  EXPECT_THROW(NamedSharding(m, P("data", "model")).is_equivalent_to(NamedSharding(m, P()), 1), PlacementError);
}

TEST_F(ShardingTest, SingleDevice) {
  const SingleDeviceSharding single(devices()[3]);
  EXPECT_TRUE(single.is_single_device());
  EXPECT_EQ(single.devices(), (DeviceList{3}));
  EXPECT_TRUE(single.is_fully_replicated());
  EXPECT_EQ(single.shard_shape(Shape{8, 16}), (Shape{8, 16}));
  EXPECT_EQ(to_string(single), "SingleDeviceSharding(device=3)");
  const NamedSharding named(make_mesh({1, 1}, {"x", "y"}, {.devices = {3}}), P("x", "y"));
  EXPECT_TRUE(single.is_equivalent_to(named, 2));
  EXPECT_FALSE(single == named);
  EXPECT_FALSE(single == SingleDeviceSharding(devices()[4]));
  EXPECT_EQ(single, SingleDeviceSharding(devices()[3]));
  EXPECT_FALSE(single == NamedSharding(single.mesh(), P()));
}

struct PrintsWhenItDies {
  std::optional<Sharding> sharding;
  ~PrintsWhenItDies() {
    if (sharding && (to_string(*sharding).empty() || NamedSharding(sharding->mesh(), P()) == *sharding)) std::abort();
  }
};
PrintsWhenItDies outlives_main;

TEST_F(ShardingTest, StaticShardingsOutliveMain) { outlives_main.sharding = NamedSharding(make_mesh({4, 2}, {"x", "y"}), P("x")); }

TEST_F(ShardingTest, Prints) {
  EXPECT_EQ(to_string(NamedSharding(make_mesh({4, 2}, {"data", "model"}), P("data", none))),
            "NamedSharding(mesh=Mesh('data': 4, 'model': 2, axis_types=(Auto, Auto)), spec=P('data', None))");
}

void expect_words(const std::string& text, std::initializer_list<const char*> parts) {
  for (const auto* part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(ShardingTest, RefusalsNameTheValues) {
  const auto m = make_mesh({4, 2}, {"data", "model"});
  const auto unknown = [&](const PartitionSpec& spec) {
    try {
      NamedSharding(m, spec);
    } catch (const UnknownAxisError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  const auto duplicate = [&](const PartitionSpec& spec) {
    try {
      NamedSharding(m, spec);
    } catch (const DuplicateAxisError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  expect_words(unknown(P("nope")), {"'nope'", "P('nope',)", "('data', 'model')"});
  expect_words(unknown(P({"data", "nope"})), {"'nope'", "P(('data', 'nope'),)"});
  expect_words(unknown(P("DATA")), {"'DATA'"});
  expect_words(unknown(P(SpecEntry(std::vector<std::string>{"", "data"}))), {"P(('', 'data'),)"});
  expect_words(duplicate(P("nope", "nope")), {"'nope'", "twice"});
  expect_words(duplicate(P("data", "data")), {"'data'", "P('data', 'data')"});
  expect_words(duplicate(P({"data", "data"})), {"'data'"});
  expect_words(duplicate(P("data", {"model", "data"})), {"'data'", "P('data', ('model', 'data'))"});
  EXPECT_NO_THROW(NamedSharding(m, P(SpecEntry())));
  EXPECT_THROW(NamedSharding(m, P("data", "model")).shard_shape(Shape{8}), PlacementError);
  EXPECT_THROW(NamedSharding(m, P(none, none, "data")).devices_indices_map(Shape{8, 8}), PlacementError);
  EXPECT_THROW(NamedSharding(m, P(none)).check_fits(Shape{}), PlacementError);
  EXPECT_NO_THROW(NamedSharding(m, P()).check_fits(Shape{}));
  try {
    static_cast<void>(NamedSharding(m, P()).shard_shape(Shape{8}, devices()[9]));
    ADD_FAILURE();
  } catch (const PlacementError& error) {
    expect_words(error.what(), {"device 9", "[0, 1, 2, 3, 4, 5, 6, 7]"});
  }
}

TEST_F(ShardingTest, AddressableOnlyWhenEveryDeviceIsThisRanks) {
  detail::set_world(8, 4, 1);
  EXPECT_FALSE(NamedSharding(make_mesh({8}, {"x"}), P("x")).is_fully_addressable());
  EXPECT_TRUE(NamedSharding(make_mesh({4}, {"x"}, {.devices = devices().last(4)}), P("x")).is_fully_addressable());
  EXPECT_TRUE(NamedSharding(make_mesh({3}, {"x"}, {.devices = {7, 4, 6}}), P()).is_fully_addressable());
  EXPECT_FALSE(NamedSharding(make_mesh({3}, {"x"}, {.devices = {7, 0, 6}}), P()).is_fully_addressable());
  EXPECT_FALSE(SingleDeviceSharding(devices()[3]).is_fully_addressable());
}

TEST_F(ShardingTest, ReplicasOfUnusedAxes) {
  const auto m = make_mesh({2, 3, 2}, {"x", "y", "z"});
  const NamedSharding s(m, P("y"));
  EXPECT_EQ(s.replicas().parts, 4);
  EXPECT_EQ(s.split(0).parts, 3);
  EXPECT_EQ(s.split(5).parts, 1);
  for (std::int64_t p = 0; p < 12; ++p) {
    EXPECT_EQ(s.split(0).part_at(p), p / 2 % 3);
    EXPECT_EQ(s.replicas().part_at(p), p / 6 * 2 + p % 2);
  }
}

// Only without a scan over the devices do these end within the test's time.
TEST_F(ShardingTest, AMillionVirtualDevices) {
  const auto all = DeviceList::virtual_devices(1 << 20);
  const auto m = make_mesh({1024, 32, 32}, {"a", "b", "c"}, {.devices = all});
  const auto n = make_mesh({1 << 15, 32}, {"d", "e"}, {.devices = DeviceList::virtual_devices(1 << 20)});
  const Shape shape{1 << 20, 100, 7};
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < 50000; ++i) {
    const NamedSharding s(m, P({"a", "b"}, "c")), t(n, P("d", "e"));
    ASSERT_TRUE(s.is_equivalent_to(t, 3));
    const auto position = i * 7919 % m.size();
    ASSERT_EQ(s.index_at(shape, position), t.index_at(shape, position));
    sum += s.replica_id(shape, position) + s.replica_id(Shape{5, 3, 0}, position) + s.shard_shape(shape)[0];
    ASSERT_FALSE(s.is_fully_addressable());
  }
  EXPECT_GT(sum, 0);
  // Of 2^15 parts of 5 elements, 26215 to 32766 are empty and alike; of 32 parts of 3, 22 to 30.
  EXPECT_EQ(NamedSharding(m, P({"a", "b"}, "c")).replica_id(Shape{5, 3}, 32766 * 32 + 29), (32766 - 26215) * 9 + 29 - 22);
}

TEST_F(ShardingTest, U_005_PositionIsNotTheId) {
  const NamedSharding s(make_mesh({3}, {"x"}, {.devices = {5, 0, 2}}), P("x"));
  const auto map = s.devices_indices_map(Shape{6});
  EXPECT_EQ(map[0].first.id, 5);
  EXPECT_EQ(map[0].second, (Index{{0, 2}}));
  EXPECT_EQ(map[1].first.id, 0);
  EXPECT_EQ(map[1].second, (Index{{2, 4}}));
  EXPECT_EQ(map[2].second, (Index{{4, 6}}));
  EXPECT_EQ(s.shard_shape(Shape{5}, devices()[5]), (Shape{1}));
}

TEST_F(ShardingTest, U_031_OffsetsOfShortLengths) {
  const NamedSharding s(make_mesh({4}, {"x"}), P("x"));
  for (const std::int64_t n : {2, 5, 9}) {
    std::int64_t next = 0;
    for (const auto& [device, index] : s.devices_indices_map(Shape{n})) {
      EXPECT_EQ(index[0].start, next);
      EXPECT_LE(index[0].size(), (n + 3) / 4);
      next = index[0].stop;
    }
    EXPECT_EQ(next, n);
  }
}

TEST_F(ShardingTest, U_054_ZeroLengths) {
  const NamedSharding s(make_mesh({4}, {"x"}), P("x"));
  EXPECT_EQ(s.shard_shape(Shape{0, 0}), (Shape{0, 0}));
  EXPECT_EQ(s.shard_shape(Shape{0, 5}), (Shape{0, 5}));
  EXPECT_EQ(s.shard_shape(Shape{8, 0}), (Shape{2, 0}));
  for (std::int64_t p = 0; p < 4; ++p) {
    EXPECT_EQ(s.replica_id(Shape{0, 5}, p), p);
    EXPECT_EQ(s.replica_id(Shape{8, 0}, p), 0);
  }
}

TEST_F(ShardingTest, U_055_AnUnevenAxisIsReallySplit) {
  const NamedSharding s(make_mesh({8}, {"data"}), P("data"));
  EXPECT_FALSE(s.is_fully_replicated());
  std::int64_t rows = 0;
  for (const auto& [device, index] : s.devices_indices_map(Shape{17, 16})) {
    EXPECT_GE(index[0].size(), 2);
    EXPECT_LE(index[0].size(), 3);
    rows += index[0].size();
  }
  EXPECT_EQ(rows, 17);
}

TEST_F(ShardingTest, U_058_OddDeviceCounts) {
  const NamedSharding s(make_mesh({5}, {"x"}), P("x"));
  for (const auto& [device, index] : s.devices_indices_map(Shape{10, 4})) EXPECT_EQ(index.shape(), (Shape{2, 4}));
  EXPECT_EQ(s.index_at(Shape{10, 4}, 4), (Index{{8, 10}, {0, 4}}));
  EXPECT_EQ(s.shard_shape(Shape{12, 4}), (Shape{3, 4}));
  EXPECT_EQ(s.index_at(Shape{12, 4}, 4), (Index{{9, 12}, {0, 4}}));
}

TEST_F(ShardingTest, U_059_SpecAndArrayOfDifferentLength) {
  const NamedSharding s(make_mesh({1, 2}, {"a", "b"}), P("a", "b"));
  EXPECT_EQ(s.shard_shape(Shape{4, 6, 2}), (Shape{4, 3, 2}));
  try {
    s.check_fits(Shape{16});
    ADD_FAILURE();
  } catch (const PlacementError& error) {
    expect_words(error.what(), {"P('a', 'b')", "2 entries", "(16,)", "1 axis"});
  }
  try {
    s.check_fits(Shape{});
    ADD_FAILURE();
  } catch (const PlacementError& error) {
    expect_words(error.what(), {"0 axes", "scalar takes P()"});
  }
}

TEST_F(ShardingTest, U_067_AnAxisOfSizeOneReplicates) {
  const auto m = make_mesh({1, 4}, {"a", "b"});
  EXPECT_TRUE(NamedSharding(m, P("a")).is_fully_replicated());
  EXPECT_EQ(NamedSharding(m, P("a")).replica_id(Shape{8}, 3), 3);
  EXPECT_FALSE(NamedSharding(m, P("b")).is_fully_replicated());
}

TEST_F(ShardingTest, U_051_LengthsBeyondThirtyTwoBits) {
  const NamedSharding s(make_mesh({4}, {"x"}), P(none, "x"));
  EXPECT_EQ(s.shard_shape(Shape{65536, 65537}).num_elements(), std::int64_t{65536} * 16385);
  const NamedSharding rows(make_mesh({3}, {"x"}), P("x"));
  const auto n = (std::int64_t{1} << 61) + 1;
  EXPECT_EQ(rows.index_at(Shape{n}, 2)[0].stop, n);
}

}  // namespace
}  // namespace meshwise

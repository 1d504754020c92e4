// ranks: 4 8
// devices_per_rank: 8
// variant: private ranks=4 MESHWISE_STORE=private
// What users of such systems ran into, restated: memory that is taken without need, or not given back.
#include <gtest/gtest.h>

#include <mpi.h>

#include <atomic>
#include <fstream>
#include <string>

#include "support/need_devices.hpp"
#include "support/row_major_numbers.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape, mw::make_mesh;
using support::line, support::numbered, support::wrong_numbers;

namespace {

std::atomic<int> live_types{0};

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

std::int64_t bytes_here(const mw::Sharding& sharding, const Shape& shape, std::int64_t itemsize) {
  std::int64_t bytes = 0;
  for (const auto& [device, box] : sharding.devices_indices_map(shape))
    if (device.rank == mw::process_index()) bytes += box.num_elements() * itemsize;
  return bytes;
}

/// The most memory of blocks that this rank has taken since. The peak is the process's and is never set back, so ballast brings the level up to it:
/// then every byte more is a new peak.
class PeakMeter {
 public:
  PeakMeter() {
    mw::barrier();
    const auto now = mw::memory_stats();
    if (now.peak > now.live) ballast_ = mw::LocalArray(Shape{now.peak - now.live}, mw::uint8);
    start_ = mw::memory_stats().peak;
  }
  std::int64_t growth() const { return mw::memory_stats().peak - start_; }

 private:
  mw::LocalArray ballast_{};
  std::int64_t start_ = 0;
};

std::int64_t status_bytes(const std::string& key) {
  std::ifstream in("/proc/self/status");
  std::int64_t kibibytes = 0;
  for (std::string word; in >> word;)
    if (word == key && in >> kibibytes) return kibibytes * 1024;
  return 0;
}

[[maybe_unused]] std::int64_t resident_bytes() { return status_bytes("VmRSS:"); }

/// The most memory that was resident since, by the system's own account: what no block accounts for is in it too.
class ResidentMeter {
 public:
  ResidentMeter() {
    std::ofstream out("/proc/self/clear_refs");
    out << "5";
    out.close();
    start_ = status_bytes("VmRSS:");
    works_ = out.good() && status_bytes("VmHWM:") <= start_ + mebibyte;
  }
  /// Some containers don't let a process set its peak back.
  bool works() const { return works_; }
  std::int64_t growth() const { return status_bytes("VmHWM:") - start_; }

 private:
  std::int64_t start_ = 0;
  bool works_ = false;
};

mw::RankCost my_cost(const mw::PlanReport& report) {
  for (const auto& cost : report.ranks)
    if (cost.rank == mw::process_index()) return cost;
  return {};
}

}  // namespace

extern "C" {

int MPI_Type_commit(MPI_Datatype* type) {
  ++live_types;
  return PMPI_Type_commit(type);
}
int MPI_Type_free(MPI_Datatype* type) {
  --live_types;
  return PMPI_Type_free(type);
}

}  // extern "C"

namespace {

// A redistribution needed three times the array. First of this file: the peak of physical memory is not set back either.
TEST(UserCases, U047_AReshardTakesTheNewShardAndNoMore) {
  NEED_DEVICES(4);
  const auto m = line(mw::devices().size());
  const NamedSharding rows(m, P("x")), columns(m, P(nullptr, "x"));
  const Shape shape{8192, 1024};
  const auto target = bytes_here(columns, shape, 8);
  const auto x = mw::device_put(numbered(shape, mw::float64), rows);
  const PeakMeter blocks;
  const auto before = mw::memory_stats();
  const ResidentMeter resident;
  const auto y = mw::reshard(x, P(nullptr, "x"));
  mw::block_until_ready(y);
  [[maybe_unused]] const auto grown = resident.growth();
  const auto after = mw::memory_stats();
  EXPECT_LE(blocks.growth(), target + mebibyte);
  EXPECT_LE(after.physical_peak, std::max(before.physical_peak, before.physical + before.pooled + target + target / 4 + 4 * mebibyte));
#ifndef MESHWISE_SANITIZED
  // In an arena the pages of other ranks that were read count as resident, too.
  if (before.store == "private" && mw::local_devices().size() == 1 && resident.works()) { EXPECT_LT(grown, shape.num_elements() * 8); }
#endif
  EXPECT_EQ(wrong_numbers<double>(y), 0);
}

// A legal reshard had the whole array on every device on its way.
TEST(UserCases, U062_NoDeviceHoldsMoreThanTwoShards) {
  NEED_DEVICES(8);
  const auto m = make_mesh({4, 2}, {"x", "y"});
  const NamedSharding from(m, P("y", nullptr, "x")), to(m, P(nullptr, {"x", "y"}));
  for (const std::int64_t n : {16, 256}) {
    const Shape shape{n, n, n};
    const auto x = mw::device_put(numbered(shape, mw::float32), from);
    const PeakMeter blocks;
    const auto y = mw::reshard(x, to);
    mw::block_until_ready(y);
    EXPECT_LE(blocks.growth(), 2 * bytes_here(to, shape, 4)) << "with the old shard it is three";
    EXPECT_EQ(wrong_numbers<float>(y), 0);
    for (const auto& shard : y.addressable_shards()) {
      const auto k = *m.devices().position_of(shard.device().id);
      EXPECT_EQ(shard.data().shape(), (Shape{n, n / 8, n}));
      EXPECT_EQ(shard.data().view<float>()(0, 0, 0), static_cast<float>(k * (n / 8) * n));
    }
  }
}

// A length that does not divide was replicated in silence while the spec said it was split.
TEST(UserCases, U055_AnUnevenArrayIsNoWholeCopy) {
  NEED_DEVICES(8);
  mw::barrier();
  const auto live = mw::memory_stats().live;
  const auto x = mw::device_put(numbered({17, 16}, mw::float32), NamedSharding(make_mesh({8}, {"data"}), P("data")));
  EXPECT_LE(mw::memory_stats().live - live, 192 * mw::local_devices().size());
  EXPECT_EQ(wrong_numbers<float>(x), 0);
  std::int64_t covered = 0;
  for (const auto& shard : x.global_shards()) {
    EXPECT_GE(shard.index()[0].size(), 2);
    EXPECT_LE(shard.index()[0].size(), 3);
    covered += shard.index()[0].size();
  }
  EXPECT_EQ(covered, 17);
}

// The value was wanted on one process and came to all.
TEST(UserCases, U070_OnlyTheOneThatAskedHoldsTheWhole) {
  const auto n = mw::devices().size();
  constexpr std::int64_t each = 65536;
  const auto x = mw::device_put(numbered({n * each}, mw::float32), NamedSharding(line(n), P("x")));
  const auto root = mw::process_count() - 1;
  const PeakMeter blocks;
  const auto whole = mw::device_get(x, root);
  if (mw::process_index() != root) {
    EXPECT_EQ(whole.size(), 0);
    EXPECT_LT(blocks.growth(), each * 4);
    return;
  }
  EXPECT_LE(blocks.growth(), (n + 1) * each * 4);
  ASSERT_EQ(whole.size(), n * each);
  const auto v = whole.view<float>();
  std::int64_t wrong = 0;
  for (std::int64_t k = 0; k < v.size(); ++k) wrong += v[k] != static_cast<float>(k) ? 1 : 0;
  EXPECT_EQ(wrong, 0);
}

// A donation that could not be used was a warning, and the source stayed.
TEST(UserCases, U078_ADonatedSourceIsGivenBack) {
  NEED_DEVICES(4);
  const auto m = line(mw::devices().size());
  const NamedSharding rows(m, P("x")), columns(m, P(nullptr, "x"));
  const Shape shape{1024, 1024};
  mw::barrier();
  const auto empty = mw::memory_stats().live;
  const auto x = mw::device_put(numbered(shape, mw::float32), rows);
  const auto source = bytes_here(rows, shape, 4), target = bytes_here(columns, shape, 4);
  EXPECT_EQ(my_cost(mw::plan_report(x, columns)).bytes_left, source + target);
  EXPECT_EQ(my_cost(mw::plan_report(x, columns, {.donate = true})).bytes_left, target);
  const auto y = mw::device_put(x, columns, {.donate = true});
  mw::block_until_ready(y);
  mw::barrier();
  EXPECT_TRUE(x.is_deleted());
  EXPECT_LE(mw::memory_stats().live - empty, target + 4096);
  EXPECT_EQ(wrong_numbers<float>(y), 0);
}

// What was given away was also somebody else's memory.
TEST(UserCases, U078_ADonatedBlockThatOthersShareStays) {
  const auto n = mw::devices().size();
  const auto m = line(n);
  const NamedSharding whole(m, P());
  const Shape shape{256, 1024};
  const auto x = mw::device_put(numbered(shape, mw::float32), whole);
  mw::barrier();
  const auto live = mw::memory_stats().live;
  const auto twin = mw::device_put(x, NamedSharding(make_mesh({n}, {"other"}), P()));
  EXPECT_EQ(mw::memory_stats().live, live) << "equal boxes are one block";
  const auto y = mw::device_put(x, NamedSharding(m, P("x")), {.donate = true});
  EXPECT_TRUE(x.is_deleted());
  EXPECT_FALSE(twin.is_deleted());
  for (int k = 0; k < 8; ++k) mw::block_until_ready(mw::device_put(mw::full(shape, -1.0f), whole));  // writes where memory was wrongly given back
  EXPECT_EQ(wrong_numbers<float>(twin), 0);
  EXPECT_EQ(wrong_numbers<float>(y), 0);
}

// Mesh and sharding were made anew for each batch, and something of each stayed.
TEST(UserCases, U065_AMeshAndAShardingForEachBatchLeaveNothing) {
  NEED_DEVICES(4);
  const auto batch = [] {
    const NamedSharding rows(make_mesh({4}, {"x"}, {.devices = {0, 1, 2, 3}}), P("x"));
    return wrong_numbers<float>(mw::device_put(numbered({16}, mw::float32), rows));
  };
  for (int k = 0; k < 100; ++k) batch();
  mw::barrier();
  const auto before = mw::memory_stats();
  const auto communicators = mw::runtime_stats().communicators;
  [[maybe_unused]] const auto resident = resident_bytes();
  std::int64_t wrong = 0;
  for (int k = 0; k < 1000; ++k) wrong += batch();
  EXPECT_EQ(wrong, 0);
  mw::barrier();
  const auto after = mw::memory_stats();
  EXPECT_EQ(after.live, before.live);
  EXPECT_EQ(after.peak, before.peak);
  EXPECT_EQ(after.physical + after.pooled, before.physical + before.pooled);
  EXPECT_EQ(mw::runtime_stats().communicators, communicators);
#ifndef MESHWISE_SANITIZED
  EXPECT_LT(resident_bytes() - resident, mebibyte / 2) << "500 bytes a batch";
#endif
}

// Each new shape left derived types behind, until MPI refused to make more.
TEST(UserCases, U107_ManyShapesLeaveNothingBehind) {
  const auto m = line(mw::devices().size());
  const NamedSharding rows(m, P("x"));
  mw::barrier();
  const auto live = mw::memory_stats().live;
  const auto types = live_types.load();
  [[maybe_unused]] std::int64_t early = 0;
  for (int k = 0; k < 2000; ++k) {
    const auto x = mw::device_put(numbered({4 * (k % 500) + 4, 8}, mw::float32), rows);
    const auto y = mw::reshard(x, P(nullptr, "x"));
    if (k % 100 == 99) { EXPECT_EQ(wrong_numbers<float>(y), 0) << k; }
#ifndef MESHWISE_SANITIZED
    if (k == 1000) early = resident_bytes();
#endif
  }
  mw::barrier();
  EXPECT_LE(mw::memory_stats().live, live);
  EXPECT_LE(live_types.load(), types);
#ifndef MESHWISE_SANITIZED
  EXPECT_LT(resident_bytes() - early, 8 * mebibyte);
#endif
}

}  // namespace

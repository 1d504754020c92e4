// What users of such systems ran into beyond 2^31 elements, in plans: no data, so the numbers may be as large as they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "meshwise/plan/redistribution.hpp"

namespace meshwise {
namespace {

constexpr std::int64_t int_max = std::numeric_limits<std::int32_t>::max();

DeviceList all(std::int64_t count) { return DeviceList::virtual_devices(count); }
Mesh line(const DeviceList& devices) { return make_mesh({devices.size()}, {"x"}, {.devices = devices}); }

// A resplit of (50000, 50000) bytes: each count is small, their sum is not.
TEST(UserCases, U045_EveryPairOfALargeTransposition) {
  const auto devices = all(4);
  const auto m = line(devices);
  constexpr std::int64_t n = 50000, part_length = n / 4;
  const auto movement = Movement::reshard(NamedSharding(m, P("x")), NamedSharding(m, P(none, "x")), Shape{n, n});
  std::int64_t total = 0;
  for (std::int64_t t = 0; t < 4; ++t) {
    const auto plan = plan_device(movement, {}, devices[t]);
    ASSERT_EQ(plan.receives.size(), 4u);
    for (const auto& piece : plan.receives) {
      const auto s = piece.source.id;
      EXPECT_EQ(piece.box, (Index{{s * part_length, (s + 1) * part_length}, {t * part_length, (t + 1) * part_length}}));
      total += piece.box.num_elements();
    }
  }
  EXPECT_EQ(total, 2500000000);
  EXPECT_GT(total, int_max);
  EXPECT_EQ(total_cost(movement, {}, 1).bytes_sent, 1875000000);
  EXPECT_EQ(total_cost(movement, {}, 8).bytes_sent, 15000000000);
}

// Four elements joined on behind 2^31 others were lost.
TEST(UserCases, U085_TheTailOfALargeConcatenation) {
  const auto devices = all(4);
  const NamedSharding rows(line(devices), P("x"));
  constexpr std::int64_t count = 2147483656, joined_count = count + 4;
  const Movement head{{rows, Shape{count}}, {rows, Shape{joined_count}, {{0, 0, 1}}}, Shape{count}};
  const Movement tail{{SingleDeviceSharding(devices[0]), Shape{4}}, {rows, Shape{joined_count}, {{0, count, 1}}}, Shape{4}};
  std::int64_t written = 0;
  for (std::int64_t t = 0; t < 4; ++t) {
    // The new part is one element longer than the old: each device takes up to three from the next.
    std::vector<bool> from(4, false);
    std::int64_t here = 0;
    for (const auto& piece : plan_device(head, {}, devices[t]).receives) {
      const auto s = piece.source.id;
      from[static_cast<std::size_t>(s)] = true;
      EXPECT_GE(piece.box[0].start, std::max(s * count / 4, t * joined_count / 4));
      EXPECT_LE(piece.box[0].stop, std::min((s + 1) * count / 4, (t + 1) * joined_count / 4));
      here += piece.box.num_elements();
    }
    EXPECT_EQ(here, std::min((t + 1) * joined_count / 4, count) - t * joined_count / 4);
    EXPECT_EQ(from, (std::vector<bool>{t == 0, t <= 1, t >= 1 && t <= 2, t >= 2}));
    written += here;
    const auto last = plan_device(tail, {}, devices[t]).receives;
    ASSERT_EQ(last.size(), t == 3 ? 1u : 0u);
    if (t < 3) continue;
    EXPECT_EQ(last[0].source, devices[0]);
    EXPECT_EQ(last[0].box, (Index{{0, 4}}));
  }
  EXPECT_EQ(written, count);
}

// The position of one element beyond 2^31 wrapped.
TEST(UserCases, U086_WhereAFarElementLies) {
  const auto devices = all(2);
  const NamedSharding rows(line(devices), P("x"));
  constexpr std::int64_t n = 2147483654, far = 2147483649;
  EXPECT_EQ(part_of(far, 2, n), 1);
  EXPECT_EQ(far - rows.index_at(Shape{n}, 1)[0].start, 1073741822);
  const Movement taken{{rows, Shape{n}, {{0, far, 1}}}, {SingleDeviceSharding(devices[0]), Shape{1}}, Shape{1}};
  const auto plan = plan_device(taken, {}, devices[0]);
  ASSERT_EQ(plan.receives.size(), 1u);
  EXPECT_EQ(plan.receives[0].source, devices[1]);
  EXPECT_EQ(plan.receives[0].box, (Index{{0, 1}}));
}

}  // namespace
}  // namespace meshwise

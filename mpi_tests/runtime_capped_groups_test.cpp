// U-117: more groups than the cap allows. Some members have room and others have not: they agree, and messages serve.
// ranks: 3 4
// env: MESHWISE_MAX_COMMUNICATORS=3
#include <gtest/gtest.h>

#include <algorithm>

#include "support/runtime_calls.hpp"

namespace {

using namespace support;

TEST(CappedGroups, U117EveryOrderOfEverySubset) {
  std::vector<std::int64_t> ids = meshwise::devices().ids();
  const auto me = meshwise::process_index();
  for (std::size_t size = 2; size <= ids.size(); ++size) {
    std::vector<std::int64_t> order = ids;
    do {
      const std::vector<std::int64_t> some(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size));
      std::int64_t wanted = 0;
      for (const auto id : some) wanted += id + 1;
      const std::int64_t got = sum(DeviceList(some), "sum");
      const bool inside = std::find(some.begin(), some.end(), me) != some.end();
      EXPECT_EQ(got, inside ? wanted : 0);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  EXPECT_LE(meshwise::runtime_stats().communicators, 3);
}

}  // namespace

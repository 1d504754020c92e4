// Arrays of more than 2^31 elements, where 32-bit counts, offsets and positions end (user cases U-045, U-085 and U-086).
// ranks: 4
// variant: private ranks=4 MESHWISE_STORE=private
// timeout: 900
// heavy
#include <gtest/gtest.h>

#include <cstring>

#include "support/row_major_numbers.hpp"

namespace mw = meshwise;
using mw::Index, mw::LocalArray, mw::NamedSharding, mw::P, mw::Slice;

namespace {

NamedSharding rows() { return {support::line(mw::devices().size()), P("x")}; }

std::uint8_t value_at(std::int64_t i, std::int64_t j) { return static_cast<std::uint8_t>((31 * i + 7 * j) % 251); }

// A resplit of more than 2^31 bytes ended with a truncation error.
TEST(UserCases, U045_ALargeTransposition) {
  constexpr std::int64_t n = 50000;
  const auto x = mw::make_array_from_callback({n, n}, mw::uint8, rows(), [](const Index& box, LocalArray& out) {
    const auto v = out.mutable_view<std::uint8_t>();
    for (std::int64_t i = 0; i < box[0].size(); ++i)
      for (std::int64_t j = 0; j < box[1].size(); ++j) v(i, j) = value_at(box[0].start + i, box[1].start + j);
  });
  const auto y = mw::reshard(x, P(nullptr, "x"));
  for (const auto& shard : y.addressable_shards()) {
    const auto& box = shard.index();
    const auto v = shard.data().view<std::uint8_t>();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < box[1].size(); ++j) wrong += v(i, j) != value_at(i, box[1].start + j) ? 1 : 0;
    EXPECT_EQ(wrong, 0);
    if (box[1].stop == n) { EXPECT_EQ(v(n - 1, box[1].size() - 1), value_at(n - 1, n - 1)); }
  }
}

// One message of more than 2^31 bytes, packed out of longer rows.
TEST(LargeMessage, BytesBeyondTwoToThe31Arrive) {
  constexpr std::int64_t rows = 65536, width = 33000, left = 500;
  const auto all = mw::devices();
  const auto x = mw::make_array_from_callback({rows, left + width + left}, mw::uint8, mw::SingleDeviceSharding(all[0]), [](const Index& box, LocalArray& out) {
    const auto v = out.mutable_view<std::uint8_t>();
    for (std::int64_t i = 0; i < box[0].size(); ++i)
      for (std::int64_t j = 0; j < box[1].size(); ++j) v(i, j) = value_at(i, j);
  });
  const auto before = mw::runtime_stats().bytes_sent;
  const auto y = mw::device_put(x[{Slice(), Slice(left, left + width)}], mw::SingleDeviceSharding(all[1]));
  mw::block_until_ready(y);
  mw::quiesce();
  if (mw::memory_stats().store == "private" && mw::process_index() == 0) { EXPECT_EQ(mw::runtime_stats().bytes_sent - before, rows * width); }
  for (const auto& shard : y.addressable_shards()) {
    const auto v = shard.data().view<std::uint8_t>();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < width; ++j) wrong += v(i, j) != value_at(i, left + j) ? 1 : 0;
    EXPECT_EQ(wrong, 0);
  }
}

// What was joined on behind 2^31 elements was lost.
TEST(UserCases, U085_TheTailOfALargeConcatenation) {
  constexpr std::int64_t n = 2147483656;
  const auto x = mw::device_put(mw::ones({n}, mw::uint8), rows());
  const auto y = mw::concatenate({x, mw::asarray(std::vector<std::uint8_t>{2, 3, 4, 5})});
  ASSERT_EQ(y.size(), n + 4);
  const auto tail = mw::device_get(y[Slice(n - 1, n + 4)]);
  ASSERT_EQ(tail.size(), 5);
  for (std::int64_t k = 0; k < 5; ++k) EXPECT_EQ(tail.view<std::uint8_t>()[k], k + 1);
  EXPECT_EQ(mw::sum(y).item<std::uint32_t>(), static_cast<std::uint32_t>(n + 14));
}

// A position beyond 2^31 wrapped to a negative one.
TEST(UserCases, U086_AFarPosition) {
  constexpr std::int64_t n = 2147483654, far = 2147483649;
  const auto x = mw::make_array_from_callback({n}, mw::uint8, rows(), [](const Index& box, LocalArray& out) {
    std::memset(out.data(), 0, static_cast<std::size_t>(out.nbytes()));
    if (box[0].start <= far && far < box[0].stop) out.mutable_view<std::uint8_t>()[far - box[0].start] = 1;
  });
  EXPECT_EQ(mw::argmax(x).item<std::int64_t>(), far);
  EXPECT_EQ(mw::count_nonzero(x).item<std::int64_t>(), 1);
  EXPECT_EQ(mw::device_get(x[far]).view<std::uint8_t>()[0], 1);
}

}  // namespace

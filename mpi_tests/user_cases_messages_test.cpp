// ranks: 2 4
// links: hdf5 mpi
// variant: piece1 ranks=4 MESHWISE_CHUNK_BYTES=1 MESHWISE_STORE=private
// variant: piece8 ranks=4 MESHWISE_CHUNK_BYTES=8 MESHWISE_STORE=private
// variant: piece16 ranks=4 MESHWISE_CHUNK_BYTES=16 MESHWISE_STORE=private MESHWISE_TAG_BOUND=32767
// variant: piece56 ranks=4 MESHWISE_CHUNK_BYTES=56 MESHWISE_STORE=private
// variant: tcp ranks=4 OMPI_MCA_btl=tcp,self MESHWISE_STORE=private
// variant: container ranks=2 OMPI_MCA_btl_vader_single_copy_mechanism=none MESHWISE_STORE=private MESHWISE_TAG_BOUND=100
// What users of such systems ran into, restated: how much a message may carry, what its tag may be, and which way it takes. The limits are made tiny.
#include <gtest/gtest.h>

#include <mpi.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <string>

#include "support/hdf5_files.hpp"
#include "support/need_devices.hpp"
#include "support/random_placement.hpp"
#include "support/row_major_numbers.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape;
using mw::testing::RandomPlacement, mw::testing::counting, mw::testing::holds_counting, mw::testing::wrong_shards;
using support::line, support::numbered, support::wrong_numbers;

namespace {

std::atomic<int> largest_tag{0};
std::atomic<int> largest_known_count{std::numeric_limits<int>::max()};

void note_tag(int tag) {
  for (int before = largest_tag.load(); before < tag && !largest_tag.compare_exchange_weak(before, tag);) {
  }
}

}  // namespace

extern "C" {

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  note_tag(tag);
  return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
int MPI_Issend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  note_tag(tag);
  return PMPI_Issend(buffer, count, type, to, tag, comm, request);
}
// As MPI does above 2^31 bytes: it cannot say how many there were.
int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count) {
  const int code = PMPI_Get_count(status, type, count);
  if (*count > largest_known_count.load()) *count = MPI_UNDEFINED;
  return code;
}

}  // extern "C"

namespace {

std::int64_t number_of(const char* setting, std::int64_t otherwise) {
  const auto text = mw::setting(setting);
  return text.empty() ? otherwise : static_cast<std::int64_t>(std::stoll(text));
}

std::int64_t piece() { return number_of("MESHWISE_CHUNK_BYTES", std::int64_t{1} << 20); }

bool by_messages() { return mw::memory_stats().store == "private"; }

// A large resplit ended with a truncation error: what was sent and what was expected were counted in different units.
TEST(UserCases, U045_TheSameValuesInPiecesOfAnySize) {
  const auto n = mw::devices().size();
  const auto x = mw::device_put(numbered({12, 16}, mw::int64), NamedSharding(line(n), P("x")));
  mw::barrier();
  const auto before = mw::runtime_stats();
  const auto y = mw::reshard(x, P(nullptr, "x"));
  mw::block_until_ready(y);
  const auto after = mw::runtime_stats();
  EXPECT_EQ(wrong_numbers<std::int64_t>(y), 0);
  const auto bytes = after.bytes_sent - before.bytes_sent;
  EXPECT_EQ(bytes, by_messages() ? (n - 1) * (12 / n) * (16 / n) * 8 : 0);
  EXPECT_LE(bytes, (after.messages_sent - before.messages_sent) * piece()) << "a message carried more than its limit";
}

// Cutting into pieces could only be tested with gigabytes, and so it was not.
TEST(UserCases, U114_RandomMovesInTinyPieces) {
  RandomPlacement random(114);
  for (int k = 0, cases = piece() == 1 ? 50 : 200; k < cases; ++k) {
    const auto ndim = 1 + random.below(3);
    Shape shape;
    for (std::int64_t d = 0; d < ndim; ++d) shape.push_back(random.below(7));
    const auto x = mw::device_put(counting(shape, mw::float64), random.sharding(ndim));
    const auto y = mw::device_put(x, random.sharding(ndim));
    const auto words = fmt::format("case {}: {} to {} on {}", k, mw::type_string(x), mw::type_string(y), y.sharding().devices());
    EXPECT_EQ(wrong_shards(y), "") << words;
    EXPECT_TRUE(holds_counting(mw::device_get(y), shape, mw::Index::whole(shape))) << words;
  }
}

// MPI does not know how much a message of more than 2^31 bytes held, and the receiver went by it.
TEST(UserCases, U113_MpisCountOfAPieceIsNotAsked) {
  const Shape shape{piece() < 56 ? 1000 : 400000};
  largest_known_count = 4096;  // the heads of messages are shorter, pieces are not
  const auto x = mw::device_put(numbered(shape, mw::float64), mw::devices()[0]);
  const auto y = mw::device_put(x, mw::devices()[1]);
  const auto z = mw::device_put(y, mw::devices()[0]);
  mw::block_until_ready(z);
  mw::barrier();
  largest_known_count = std::numeric_limits<int>::max();
  EXPECT_EQ(wrong_numbers<double>(y), 0);
  EXPECT_EQ(wrong_numbers<double>(z), 0);
}

// Collectives and files used tags beyond the bound of the MPI at hand.
TEST(UserCases, U097_NoTagIsBeyondTheBound) {
  const auto n = mw::devices().size();
  const NamedSharding rows(line(n), P("x"));
  const NamedSharding first(mw::make_mesh({n / 2}, {"x"}, {.devices = mw::devices().first(n / 2)}), P("x"));
  const NamedSharding last(mw::make_mesh({n / 2}, {"x"}, {.devices = mw::devices().last(n / 2)}), P(nullptr, "x"));
  const hdf5_files::Folder folder;
  mw::barrier();
  largest_tag = 0;
  const auto x = mw::device_put(numbered({8, 6}, mw::float32), rows);
  EXPECT_EQ(mw::sum(x).item<float>(), 1128.0f);
  const auto y = mw::device_put(mw::device_put(x, first), last);
  EXPECT_EQ(mw::sum(y).item<float>(), 1128.0f);
  EXPECT_EQ(wrong_numbers<float>(y), 0);
  mw::io::write(folder / "x.h5", "/x", y);
  EXPECT_EQ(wrong_numbers<float>(mw::io::read(folder / "x.h5", "/x", rows)), 0);
  mw::barrier();
  // 32767 is what MPI promises everywhere.
  EXPECT_LE(largest_tag.load(), number_of("MESHWISE_TAG_BOUND", 32767));
}

// A running number used as a tag passed the bound after a thousand messages, and then they were mixed up.
TEST(UserCases, U098_AThousandMovesSeveralInFlight) {
  constexpr std::int64_t together = 8, moves = 1000;
  const auto one = mw::devices()[0], two = mw::devices()[1];
  std::vector<Array> flying(static_cast<std::size_t>(together));
  std::int64_t wrong = 0;
  largest_tag = 0;
  for (std::int64_t k = 0; k < moves + together; ++k) {
    auto& slot = flying[static_cast<std::size_t>(k % together)];
    if (k >= together) {
      for (const auto& shard : slot.addressable_shards())
        for (std::int64_t i = 0; i < 4; ++i) wrong += shard.data().view<std::int64_t>()[i] != k - together + i ? 1 : 0;
    }
    if (k >= moves) continue;
    const bool back = k % 2 != 0;
    slot = mw::device_put(mw::device_put(mw::arange(k, k + 4, mw::int64), back ? two : one), back ? one : two);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(largest_tag.load(), number_of("MESHWISE_TAG_BOUND", 32767));
}

// Memory of other processes may not be read in a container; an interface that leads nowhere took the messages: both ended in hangs.
TEST(UserCases, U099_U103_AMebibyteByWhicheverWay) {
  const auto n = mw::devices().size();
  const Shape shape{512, piece() < 56 ? 16 : 512};
  const auto x = mw::device_put(numbered(shape, mw::float32), NamedSharding(line(n), P("x")));
  const auto y = mw::reshard(x, P(nullptr, "x"));
  const auto z = mw::reshard(y, P("x"));
  EXPECT_EQ(wrong_numbers<float>(y), 0);
  EXPECT_EQ(wrong_numbers<float>(z), 0);
}

// Two arrays reduced in one message had other last bits than each on its own.
TEST(UserCases, U090_FusedOrApartTheSameBits) {
  NEED_DEVICES(4);
  const NamedSharding rows(line(4), P("x"));
  const std::int64_t more = piece() < 8 ? 24 : 9000;  // 10000 columns go another way than 1000
  const auto x = mw::device_put(mw::random::normal(mw::random::key(1), {4, 1000}), rows);
  const auto others = mw::device_put(mw::random::normal(mw::random::key(2), {4, more}), rows);
  const auto apart = mw::device_get(mw::sum(x, {0})), fused = mw::device_get(mw::sum(mw::concatenate({x, others}, 1), {0}));
  ASSERT_EQ(apart.size(), 1000);
  ASSERT_EQ(fused.size(), 1000 + more);
  const auto a = apart.view<float>(), f = fused.view<float>();
  std::int64_t different = 0;
  for (std::int64_t k = 0; k < 1000; ++k) different += std::memcmp(&a[k], &f[k], sizeof(float)) != 0 ? 1 : 0;
  EXPECT_EQ(different, 0);
}

}  // namespace

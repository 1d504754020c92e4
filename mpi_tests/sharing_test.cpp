// ranks: 2 4
// hosts: 2x2
// variant: private ranks=2,4 MESHWISE_STORE=private
// variant: nodes2 ranks=4 MESHWISE_NODE_SIZE=2
// What costs nothing costs nothing, by the library's own counters: blocks change hands, are looked at through windows, and are one on a node.
#include <gtest/gtest.h>

#include <mpi.h>

#include "support/need_devices.hpp"
#include "support/row_major_numbers.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::P, mw::Shape;
using support::line, support::numbered, support::wrong_numbers;

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

std::int64_t of_all_ranks(std::int64_t mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return mine;
}

/// Nodes, as far as memory goes: how many ranks share theirs.
std::int64_t ranks_a_node() {
  if (mw::memory_stats().store == "private") return 1;
  const auto pretended = mw::setting("MESHWISE_NODE_SIZE");
  if (!pretended.empty()) return std::stoll(pretended);
  static const int here = [] {
    MPI_Comm node = MPI_COMM_NULL;
    int count = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &count);
    MPI_Comm_free(&node);
    return count;
  }();
  return here;
}
std::int64_t nodes() { return mw::process_count() / ranks_a_node(); }

/// What this rank has sent, copied and taken since. Collective.
class Account {
 public:
  Account() {
    settle();
    memory_ = mw::memory_stats();
    work_ = mw::runtime_stats();
  }

  /// Local. Once, when what is accounted for is done.
  void close() {
    const auto now = mw::runtime_stats();
    copied = now.bytes_copied - work_.bytes_copied;
    sent = now.bytes_sent - work_.bytes_sent;
    messages = now.messages_sent - work_.messages_sent;
    settle();
    const auto then = mw::memory_stats();
    live = then.live - memory_.live;
    physical = then.physical - memory_.physical;
  }

  std::int64_t copied = 0, sent = 0, messages = 0, live = 0, physical = 0;

 private:
  /// Blocks that others dropped last are back at their owners.
  static void settle() {
    mw::barrier();
    mw::trim();
    mw::barrier();
  }

  mw::MemoryStats memory_;
  mw::RuntimeStats work_;
};

void expect_no_traffic(const Account& account) {
  EXPECT_EQ(account.copied, 0);
  EXPECT_EQ(account.sent, 0);
  EXPECT_EQ(account.messages, 0);
}

/// 1 MiB a device.
Shape some_rows() { return {128 * mw::devices().size(), 1024}; }

/// All devices, neighbours exchanged: 1, 0, 3, 2.
mw::Mesh pairs_swapped() {
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; id < mw::devices().size(); ++id) ids.push_back(id ^ 1);
  return mw::make_mesh({mw::devices().size()}, {"x"}, {.devices = mw::DeviceList(ids)});
}

std::vector<const std::byte*> addresses(const Array& x) {
  std::vector<const std::byte*> at;
  for (const auto& shard : x.addressable_shards()) at.push_back(shard.data().data());
  return at;
}

TEST(Sharing, EqualBoxesChangeHands) {
  const auto n = mw::devices().size();
  const auto x = mw::device_put(numbered(some_rows(), mw::float64), NamedSharding(line(n), P("x")));
  const auto reversed = mw::make_mesh({n}, {"x"}, {.devices = mw::devices().reversed()});
  for (const auto& mesh : {pairs_swapped(), reversed}) {
    const bool near = ranks_a_node() == mw::process_count() || (ranks_a_node() == 2 && mesh.devices()[0].id == 1);
    Account account;
    const auto y = mw::device_put(x, NamedSharding(mesh, P("x")));
    mw::block_until_ready(y);
    account.close();
    if (near) {
      expect_no_traffic(account);
      EXPECT_EQ(account.physical, 0);
    } else {
      EXPECT_EQ(account.sent, mebibyte);
      EXPECT_EQ(account.physical, mebibyte);
    }
    EXPECT_EQ(account.live, mebibyte);
    EXPECT_EQ(wrong_numbers<double>(y), 0);
  }
}

TEST(Sharing, AReplicatedArrayIsOneBlockANode) {
  const auto n = mw::devices().size();
  const auto x = mw::device_put(numbered(some_rows(), mw::float64), NamedSharding(line(n), P("x")));
  mw::block_until_ready(mw::reshard(x, P()));  // small blocks share pages: those of the counters behind a large copy are there from now on
  Account account;
  const auto y = mw::reshard(x, P());
  mw::block_until_ready(y);
  account.close();
  EXPECT_EQ(account.live, y.nbytes());
  EXPECT_EQ(of_all_ranks(account.physical), nodes() * y.nbytes());
  EXPECT_EQ(of_all_ranks(account.sent), (nodes() - 1) * y.nbytes()) << "each node gets what it lacks once";
  const auto written = of_all_ranks(account.copied);
  if (nodes() == 1) { EXPECT_EQ(written, y.nbytes()) << "each byte is written once"; }
  EXPECT_EQ(wrong_numbers<double>(y), 0);
}

// The example in memory.hpp.
TEST(Sharing, LogicalAndPhysicalMemory) {
  NEED_DEVICES(4);
  Account account;
  const auto x = mw::reshard(mw::device_put(mw::ones({131072}, mw::float64), NamedSharding(line(4), P("x"))), P());
  mw::block_until_ready(x);
  account.close();
  EXPECT_EQ(account.live, mebibyte);
  EXPECT_TRUE(account.physical == 0 || account.physical == mebibyte) << account.physical;
  EXPECT_EQ(of_all_ranks(account.physical), nodes() * mebibyte);
}

TEST(Sharing, AContiguousSliceIsAWindow) {
  const auto n = mw::devices().size();
  auto x = mw::device_put(numbered({1024, 128 * n}, mw::float64), NamedSharding(line(n), P(nullptr, "x")));
  mw::block_until_ready(x);
  Account account;
  const auto y = x[mw::Slice(100, 400)];
  mw::block_until_ready(y);
  account.close();
  expect_no_traffic(account);
  EXPECT_EQ(account.live, 0);
  EXPECT_EQ(account.physical, 0);
  ASSERT_EQ(y.addressable_shards().size(), 1u);
  EXPECT_EQ(addresses(y)[0], addresses(x)[0] + std::ptrdiff_t{100} * 128 * 8);
  // Who looks at it keeps it: memory that came back would be written again.
  x = Array{};
  for (int k = 0; k < 4; ++k) mw::block_until_ready(mw::device_put(mw::full({1024, 128 * n}, -1.0, mw::float64), NamedSharding(line(n), P(nullptr, "x"))));
  std::int64_t wrong = 0;
  const auto shard = y.addressable_shards()[0];
  const auto values = shard.data().view<double>();
  for (std::int64_t i = 0; i < 300; ++i)
    for (std::int64_t j = 0; j < 128; ++j) wrong += values(i, j) != static_cast<double>((100 + i) * 128 * n + shard.index()[1].start + j) ? 1 : 0;
  EXPECT_EQ(wrong, 0);
}

TEST(Sharing, AnUnchangedShardingIsTheVerySameMemory) {
  const auto n = mw::devices().size();
  const NamedSharding rows(line(n), P("x"));
  const auto x = mw::device_put(numbered(some_rows(), mw::float64), rows);
  mw::block_until_ready(x);
  Account account;
  const auto same = mw::reshard(x, P("x")), again = mw::device_put(x, rows);
  const auto renamed = mw::device_put(x, NamedSharding(mw::make_mesh({1, n}, {"a", "b"}), P("b")));
  account.close();
  expect_no_traffic(account);
  EXPECT_EQ(account.live, 0);
  EXPECT_EQ(account.physical, 0);
  for (const auto& y : {same, again, renamed}) EXPECT_EQ(addresses(y), addresses(x));
  EXPECT_EQ(wrong_numbers<double>(renamed), 0);
}

TEST(Sharing, EqualBoxesOfDisjointMeshesAreNotCopied) {
  std::vector<std::int64_t> even, odd;
  for (std::int64_t id = 0; id < mw::devices().size(); ++id) (id % 2 == 0 ? even : odd).push_back(id);
  const auto half = static_cast<std::int64_t>(even.size());
  const auto here = mw::make_mesh({half}, {"x"}, {.devices = mw::DeviceList(even)}), there = mw::make_mesh({half}, {"x"}, {.devices = mw::DeviceList(odd)});
  const auto x = mw::device_put(numbered({128 * half, 1024}, mw::float64), NamedSharding(here, P("x")));
  Account account;
  const auto y = mw::device_put(x, NamedSharding(there, P("x")));
  mw::block_until_ready(y);
  account.close();
  const bool has_source = mw::process_index() % 2 == 0;
  EXPECT_EQ(account.live, has_source ? 0 : mebibyte);
  if (ranks_a_node() > 1) {
    expect_no_traffic(account);
    EXPECT_EQ(account.physical, 0);
  } else {
    EXPECT_EQ(account.sent, has_source ? mebibyte : 0);
    EXPECT_EQ(account.physical, has_source ? 0 : mebibyte);
  }
  EXPECT_EQ(wrong_numbers<double>(y), 0);
}

TEST(Sharing, AReducedValueIsOneBlockANode) {
  const auto n = mw::devices().size();
  constexpr std::int64_t length = 512 * 1024;  // 4 MiB
  const auto x = mw::device_put(numbered({2 * n, length}, mw::int64), NamedSharding(line(n), P("x")));
  mw::block_until_ready(mw::sum(x, {0}));
  Account account;
  const auto total = mw::sum(x, {0});
  mw::block_until_ready(total);
  account.close();
  EXPECT_EQ(account.live, total.nbytes());
  EXPECT_EQ(of_all_ranks(account.physical), nodes() * total.nbytes());
  // Partial results in slices to those of other nodes that combine them, and what comes of it once to each other node.
  EXPECT_EQ(of_all_ranks(account.sent), (mw::process_count() - ranks_a_node() + nodes() - 1) * total.nbytes());
  const auto values = total.local_value().view<std::int64_t>();
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < length; ++j) wrong += values[j] != n * (2 * n - 1) * length + 2 * n * j ? 1 : 0;
  EXPECT_EQ(wrong, 0);
}

}  // namespace

// ranks: 4
// env: MESHWISE_STORE=private
// hosts: 4x1
// links: mpi
// Chunks leave for all peers in turn: no peer waits until another one has everything.
#include <gtest/gtest.h>

#include <mpi.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "support/row_major_numbers.hpp"

namespace mw = meshwise;
using mw::NamedSharding, mw::P;

namespace {

constexpr int chunk = 1 << 20;
std::mutex lock;
std::vector<int> chunks_to;  // ranks, in the order of the chunks that left for them

}  // namespace

extern "C" int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  if (count == chunk) {
    const std::scoped_lock hold(lock);
    chunks_to.push_back(to);
  }
  return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

namespace {

TEST(Transport, PackedChunksLeaveInTurn) {
  const auto n = mw::devices().size();
  const NamedSharding rows(support::line(n), P("x"));
  const auto x = mw::device_put(support::numbered({4096, 4096}, mw::float64), rows);  // 8 MiB for each peer, in pieces of rows
  mw::barrier();
  const auto y = mw::reshard(x, P(nullptr, "x"));
  std::vector<int> order;
  {
    const std::scoped_lock hold(lock);
    order = chunks_to;
  }
  mw::block_until_ready(y);
  EXPECT_EQ(support::wrong_numbers<double>(y), 0);
  // As many as there are buffers for, 16 MiB, have left when the call returns: five for each peer, and one.
  ASSERT_GE(order.size(), 15u);
  for (std::size_t first = 0; first < 15; first += 3) {
    std::vector<int> round(order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(first) + 3);
    std::sort(round.begin(), round.end());
    EXPECT_EQ(std::unique(round.begin(), round.end()), round.end()) << "chunks " << first << " to " << first + 2;
  }
  const std::scoped_lock hold(lock);
  std::map<int, int> each;
  for (const int to : chunks_to) ++each[to];
  EXPECT_EQ(each.size(), 3u);
  for (const auto& [to, count] : each) EXPECT_EQ(count, 8) << "to rank " << to;
}

}  // namespace

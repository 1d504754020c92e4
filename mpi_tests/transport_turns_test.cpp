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

constexpr int most_of_a_head = 4096;
std::mutex lock;
std::vector<int> chunks_to;  // ranks, in the order of the chunks that left for them; a chunk may be several messages
std::map<int, std::int64_t> bytes_to;

void note(int count, int to) {
  if (count <= most_of_a_head) return;
  const std::scoped_lock hold(lock);
  if (bytes_to[to] % (std::int64_t{1} << 20) == 0) chunks_to.push_back(to);
  bytes_to[to] += count;
}

}  // namespace

extern "C" {

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  note(count, to);
  return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
int MPI_Issend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  note(count, to);
  return PMPI_Issend(buffer, count, type, to, tag, comm, request);
}

}  // extern "C"

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
  // As many as the windows let through, two each, have left when the call returns.
  ASSERT_GE(order.size(), 6u);
  for (std::size_t first = 0; first < 6; first += 3) {
    std::vector<int> round(order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(first) + 3);
    std::sort(round.begin(), round.end());
    EXPECT_EQ(std::unique(round.begin(), round.end()), round.end()) << "chunks " << first << " to " << first + 2;
  }
  const std::scoped_lock hold(lock);
  EXPECT_EQ(bytes_to.size(), 3u);
  for (const auto& [to, bytes] : bytes_to) EXPECT_EQ(bytes, std::int64_t{8} << 20) << "to rank " << to;
}

}  // namespace

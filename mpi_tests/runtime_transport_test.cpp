// Random boxes between all pairs of ranks, many transfers under way at once, completed in any order; with chunks from 1 byte to 1 MiB.
// ranks: 1 2 3 4 6 8
// hosts: 2x2 4x1
// devices_per_rank: 8
// timeout: 120
// variant: chunk1 ranks=2 MESHWISE_CHUNK_BYTES=1 MESHWISE_WINDOW=2 MESHWISE_STORE=private
// variant: chunk7 ranks=2,4 MESHWISE_CHUNK_BYTES=7 MESHWISE_STORE=private
// variant: chunk64 ranks=3,8 MESHWISE_CHUNK_BYTES=64 MESHWISE_RUN_AHEAD=4096 MESHWISE_STORE=private
// variant: private ranks=2,4 MESHWISE_STORE=private
// variant: runahead ranks=3,8 MESHWISE_RUN_AHEAD=4096
// variant: nothread ranks=2,4 MESHWISE_PROGRESS_THREAD=off
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// variant: off ranks=4 MESHWISE_CHECK=off
// variant: tags ranks=2,4 MESHWISE_TAG_BOUND=100 MESHWISE_STORE=private
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/hooks.hpp"
#include "support/runtime_calls.hpp"

namespace {

using namespace support;

// What a rank sends or receives of one box: both ends draw the extents from the same seed, each its own strides.
struct Side {
  std::vector<std::byte> memory;
  StridedBox box;
};

Side lay_out(std::mt19937& random, const std::vector<std::int64_t>& extents, std::size_t itemsize) {
  Side side;
  side.box.extents = {extents.begin(), extents.end()};
  side.box.itemsize = itemsize;
  side.box.strides.resize(extents.size());
  std::vector<std::size_t> order(extents.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = order.size() - 1 - k;
  if (random() % 3 == 0) std::shuffle(order.begin(), order.end(), random);
  std::int64_t step = static_cast<std::int64_t>(itemsize);
  for (const std::size_t axis : order) {
    if (random() % 3 == 0) step += static_cast<std::int64_t>(itemsize);
    side.box.strides[axis] = step;
    step *= std::max<std::int64_t>(extents[axis], 1);
  }
  side.memory.resize(static_cast<std::size_t>(step) + itemsize);
  side.box.base = side.memory.data();
  return side;
}

std::byte value_of(std::uint64_t seed, std::int64_t index) {
  return static_cast<std::byte>(meshwise::detail::mix(seed, static_cast<std::uint64_t>(index)) & 0xFF);
}

// Visits the box's bytes in row-major order.
template <class F>
void for_each_byte(const StridedBox& box, F f) {
  std::vector<std::int64_t> at(box.extents.size(), 0);
  if (box.bytes() == 0) return;
  for (std::int64_t index = 0;;) {
    std::byte* place = box.base;
    for (std::size_t k = 0; k < at.size(); ++k) place += at[k] * box.strides[k];
    for (std::size_t b = 0; b < box.itemsize; ++b) f(place[b], index++);
    std::size_t k = at.size();
    while (k > 0 && ++at[k - 1] == box.extents[k - 1]) at[--k] = 0;
    if (k == 0) return;
  }
}

struct Round {
  std::vector<Side> sides;  // keep their addresses: reserved at once
  std::vector<std::pair<std::size_t, std::uint64_t>> incoming;
  std::shared_ptr<Transfer> transfer;
};

std::unique_ptr<Round> start_round(int number, std::int64_t most_elements) {
  const auto n = meshwise::process_count(), me = meshwise::process_index();
  auto round = std::make_unique<Round>();
  round->sides.reserve(static_cast<std::size_t>(8 * n));
  std::vector<Exchange> sends, receives;
  std::mt19937 mine(static_cast<unsigned>(977 * number + me));
  for (std::int64_t from = 0; from < n; ++from) {
    for (std::int64_t to = 0; to < n; ++to) {
      if (from == to) continue;
      std::mt19937 shared(static_cast<unsigned>((number * 64 + from) * 64 + to));
      const auto boxes = shared() % 4;
      Exchange exchange{from == me ? to : from, {}};
      for (unsigned b = 0; b < boxes; ++b) {
        const std::size_t items[] = {1, 2, 4, 8, 16};
        const std::size_t itemsize = items[shared() % 5];
        std::vector<std::int64_t> extents(shared() % 4);
        std::int64_t elements = 1;
        for (auto& extent : extents) {
          extent = static_cast<std::int64_t>(shared() % 14);
          if (elements * extent > most_elements) extent = 1;
          elements *= extent;
        }
        if (from != me && to != me) continue;
        Side& side = round->sides.emplace_back(lay_out(mine, extents, itemsize));
        side.box.base = side.memory.data();
        const std::uint64_t seed =
            meshwise::detail::mix(static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(from * 1000 + to * 10) + b);
        if (from == me) {
          for_each_byte(side.box, [&](std::byte& byte, std::int64_t index) { byte = value_of(seed, index); });
        } else {
          round->incoming.emplace_back(round->sides.size() - 1, seed);
        }
        exchange.boxes.push_back(side.box);
      }
      if (from == me)
        sends.push_back(std::move(exchange));
      else if (to == me)
        receives.push_back(std::move(exchange));
    }
  }
  const Ticket ticket = enter("random", meshwise::devices(), static_cast<std::uint64_t>(number));
  round->transfer = meshwise::detail::post(ticket, std::move(sends), std::move(receives), {});
  return round;
}

std::int64_t wrong_bytes(const Round& round) {
  std::int64_t wrong = 0;
  for (const auto& [side, seed] : round.incoming) {
    for_each_byte(round.sides[side].box,
                  [&, s = seed](std::byte& byte, std::int64_t index) { wrong += byte != value_of(s, index) ? 1 : 0; });
  }
  return wrong;
}

TEST(Transport, RandomBoxesInAnyOrder) {
  const bool tiny = !meshwise::setting("MESHWISE_CHUNK_BYTES").empty();
  std::mt19937 random(5);
  for (int batch = 0; batch < (tiny ? 4 : 15); ++batch) {
    std::vector<std::unique_ptr<Round>> rounds;
    for (int k = 0; k < 10; ++k) rounds.push_back(start_round(10 * batch + k, tiny ? 60 : batch % 3 == 0 ? 2000 : 100));
    std::shuffle(rounds.begin(), rounds.end(), random);
    for (const auto& round : rounds) {
      if (round->transfer) round->transfer->wait();
      EXPECT_EQ(wrong_bytes(*round), 0) << "batch " << batch;
    }
  }
}

TEST(Transport, LargeContiguousAndStrided) {
  if (!meshwise::setting("MESHWISE_CHUNK_BYTES").empty()) GTEST_SKIP() << "with tiny chunks this takes too long";
  const auto n = meshwise::process_count(), me = meshwise::process_index();
  for (const bool strided : {false, true}) {
    const std::int64_t rows = 700, columns = 1000, pitch = strided ? 1100 : 1000;
    std::vector<double> out(static_cast<std::size_t>(rows * pitch)), in(out.size());
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = static_cast<double>(k) + 0.25 * static_cast<double>(me);
    const StridedBox from{reinterpret_cast<std::byte*>(out.data()), {rows, columns}, {8 * pitch, 8}, 8};
    const StridedBox to{reinterpret_cast<std::byte*>(in.data()), {rows, columns}, {8 * pitch, 8}, 8};
    if (n > 1) {
      const auto next = (me + 1) % n, last = (me + n - 1) % n;
      const auto transfer = meshwise::detail::post(enter("large", meshwise::devices()), {{next, {from}}}, {{last, {to}}}, {});
      if (transfer) transfer->wait();  // none where all was done at once
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          const auto at = static_cast<std::size_t>(i * pitch + j);
          wrong += in[at] != static_cast<double>(at) + 0.25 * static_cast<double>(last) ? 1 : 0;
        }
      }
      EXPECT_EQ(wrong, 0);
    }
  }
}

// Where the bytes lie in one run MPI has them from and to their place; else a chunk at a time is packed, on that side alone. Memory that is shared needs neither.
TEST(Transport, OnlyWhatIsStridedIsStaged) {
  const auto n = meshwise::process_count(), me = meshwise::process_index();
  if (n == 1) GTEST_SKIP() << "needs two ranks";
  if (!meshwise::setting("MESHWISE_CHUNK_BYTES").empty()) GTEST_SKIP() << "chunks are smaller than a run";
  constexpr std::int64_t rows = 300, columns = 1000, pitch = 1100;  // with more than one chunk, the last of them ragged
  const auto next = (me + 1) % n, last = (me + n - 1) % n;
  for (const bool strided_there : {false, true}) {
    for (const bool strided_here : {false, true}) {
      std::vector<double> out(rows * pitch), in(rows * pitch, -1.0);
      const auto step_out = strided_there ? pitch : columns, step_in = strided_here ? pitch : columns;
      for (std::int64_t k = 0; k < rows * columns; ++k)
        out[static_cast<std::size_t>(k / columns * step_out + k % columns)] = static_cast<double>(k + me);
      const StridedBox from{reinterpret_cast<std::byte*>(out.data()), {rows, columns}, {8 * step_out, 8}, 8};
      const StridedBox to{reinterpret_cast<std::byte*>(in.data()), {rows, columns}, {8 * step_in, 8}, 8};
      meshwise::barrier();
      const auto staged = meshwise::detail::test_staged_bytes();
      const auto transfer = meshwise::detail::post(enter("staged", meshwise::devices()), {{next, {from}}}, {{last, {to}}}, {});
      if (transfer) transfer->wait();
      const auto packed = strided_there && !meshwise::detail::lends_blocks_to(next), unpacked = strided_here && !meshwise::detail::lends_blocks_to(last);
      EXPECT_EQ(meshwise::detail::test_staged_bytes() - staged, (int{packed} + int{unpacked}) * rows * columns * 8) << strided_there << strided_here;
      std::int64_t wrong = 0;
      for (std::int64_t k = 0; k < rows * columns; ++k)
        wrong += in[static_cast<std::size_t>(k / columns * step_in + k % columns)] != static_cast<double>(k + last) ? 1 : 0;
      EXPECT_EQ(wrong, 0);
    }
  }
}

TEST(Transport, NothingToMoveIsNoTransfer) {
  const Ticket ticket = enter("nothing", meshwise::devices());
  EXPECT_EQ(meshwise::detail::post(ticket, {}, {}, {}), nullptr);
  std::vector<Exchange> empty;
  if (meshwise::process_count() > 1)
    empty.push_back({1 - std::min<std::int64_t>(meshwise::process_index(), 1), {StridedBox{nullptr, {0, 4}, {16, 4}, 4}}});
  EXPECT_EQ(meshwise::detail::post(ticket, empty, empty, {}), nullptr);
}

// U-093: a ring of 3 MB arrays, all started, then completed in reverse order.
TEST(Transport, U093RingCompletedInReverse) {
  const auto n = meshwise::process_count(), me = meshwise::process_index();
  if (n == 1) GTEST_SKIP() << "needs two ranks";
  const std::int64_t bytes = meshwise::setting("MESHWISE_CHUNK_BYTES").empty() ? 3'000'000 : 3000;
  std::vector<Moving> moves;
  for (int k = 0; k < 4; ++k)
    moves.push_back(
        move(enter("ring", meshwise::devices()), (me + 1) % n, (me + n - 1) % n, bytes, static_cast<unsigned char>(10 * k + me)));
  for (int k = 3; k >= 0; --k) {
    moves[static_cast<std::size_t>(k)].wait();
    EXPECT_TRUE(moves[static_cast<std::size_t>(k)].holds(static_cast<unsigned char>(10 * k + (me + n - 1) % n)));
  }
}

// U-094, U-098: many moves of mixed sizes in flight between two ranks; constant tags never run out.
TEST(Transport, U094U098ManyMovesInFlight) {
  const auto n = meshwise::process_count(), me = meshwise::process_index();
  const bool tiny = !meshwise::setting("MESHWISE_CHUNK_BYTES").empty();
  const std::int64_t peer = me == 0 ? 1 : me == 1 ? 0 : -1;
  std::mt19937 random(3);
  for (int batch = 0; batch < 20; ++batch) {
    std::vector<Moving> moves;
    for (int k = 0; k < 50; ++k) {
      const std::int64_t sizes[] = {0, 8, tiny ? 100 : 1 << 20};
      const std::int64_t to = n > 1 ? peer : -1;
      moves.push_back(move(enter("put", meshwise::devices()), to, to, sizes[k % 3], static_cast<unsigned char>(k)));
    }
    std::vector<int> order(moves.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
    std::shuffle(order.begin(), order.end(), random);
    for (const int k : order) {
      const auto& moving = moves[static_cast<std::size_t>(k)];
      moving.wait();
      EXPECT_TRUE(n == 1 || peer < 0 || moving.holds(static_cast<unsigned char>(k)));
    }
  }
}

TEST(Transport, BlocksAreKeptUntilTheyHaveLeft) {
  const auto n = meshwise::process_count(), me = meshwise::process_index();
  if (n == 1) GTEST_SKIP() << "needs two ranks";
  const std::int64_t bytes = meshwise::setting("MESHWISE_CHUNK_BYTES").empty() ? 5'000'000 : 500;
  const auto before = meshwise::runtime_stats().live_bytes;
  auto moving = move(enter("keep", meshwise::devices()), me == 0 ? 1 : -1, me == 1 ? 0 : -1, bytes, 77);
  moving.out.reset();  // the transfer holds it
  if (me == 1) {
    moving.wait();
    EXPECT_TRUE(moving.holds(77));
  }
  moving.in.reset();
  meshwise::barrier();
  EXPECT_EQ(meshwise::runtime_stats().live_bytes, before);
}

}  // namespace

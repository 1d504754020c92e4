// Copiers of every instruction set this CPU has, against a loop over elements: any strides, item sizes, bases, bands in any order, streamed and not.
// ranks: 1
// variant: portable ranks=2 MESHWISE_KERNELS=portable
// variant: avx2 ranks=2 MESHWISE_KERNELS=avx2
#include "runtime/copier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "runtime/kernels/copy.hpp"
#include "support/runtime_calls.hpp"

namespace {

using meshwise::detail::Copier;
using meshwise::detail::KernelSet;
using std::int64_t;

constexpr int64_t streamed = int64_t{1} << 40, cached = 0;  // as total bytes

// A buffer and strides in it: axes in a random order, with gaps, some reversed, bases anywhere.
struct Place {
  std::vector<int64_t> strides;
  int64_t base = 0;
  std::vector<std::byte> memory;
};

Place random_place(std::mt19937& random, const std::vector<int64_t>& extents, int64_t item, bool may_repeat) {
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  std::vector<std::size_t> order(extents.size());
  std::iota(order.rbegin(), order.rend(), 0U);
  if (one_in(2)) std::shuffle(order.begin(), order.end(), random);
  Place place;
  place.strides.resize(extents.size());
  place.base = one_in(4) ? static_cast<int64_t>(random() % 70) : 0;
  int64_t step = item;
  for (const std::size_t axis : order) {
    if (one_in(4)) step += item * static_cast<int64_t>(1 + random() % 3);
    if (one_in(12)) step = (step + 63) / 64 * 64;  // whole lines are the fast case
    if (may_repeat && one_in(6)) continue;         // stride 0
    place.strides[axis] = step;
    if (one_in(6) && extents[axis] > 0) {
      place.strides[axis] = -step;
      place.base += (extents[axis] - 1) * step;
    }
    step *= std::max<int64_t>(extents[axis], 1);
  }
  place.memory.resize(static_cast<std::size_t>(place.base + step + item));
  std::uint64_t state = random() | 1U;
  for (auto& byte : place.memory) byte = static_cast<std::byte>((state *= 6364136223846793005U) >> 56);
  return place;
}

void naive_copy(const std::vector<int64_t>& extents, const Place& from, Place& to, int64_t item) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  std::vector<int64_t> at(extents.size(), 0);
  for (;;) {
    int64_t source = from.base, target = to.base;
    for (std::size_t k = 0; k < at.size(); ++k) source += at[k] * from.strides[k], target += at[k] * to.strides[k];
    std::memcpy(to.memory.data() + target, from.memory.data() + source, static_cast<std::size_t>(item));
    std::size_t k = at.size();
    while (k > 0 && ++at[k - 1] == extents[k - 1]) at[--k] = 0;
    if (k == 0) return;
  }
}

std::vector<int64_t> random_extents(std::mt19937& random) {
  static constexpr int64_t lengths[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 33, 64, 70, 130, 257};
  std::vector<int64_t> extents(random() % 6);
  const int64_t most = random() % 8 ? 300 : 8000;
  int64_t elements = 1;
  for (auto& extent : extents) {
    extent = lengths[random() % std::size(lengths)];
    if (extent == 0 && random() % 4) extent = 2;
    if (elements * extent > most) extent = 1 + static_cast<int64_t>(random() % 2);
    elements *= extent;
  }
  if (random() % 40 == 0) {  // more axes than a copier holds in itself
    extents.assign(8 + random() % 22, 1);
    for (int k = 0; k < 11; ++k) extents[random() % extents.size()] = 2;
  }
  return extents;
}

int64_t random_item(std::mt19937& random) {
  static constexpr int64_t large[] = {24, 32, 40, 64, 100, 128, 600, 1000};
  return random() % 4 ? 1 + static_cast<int64_t>(random() % 16) : large[random() % std::size(large)];
}

class EverySet : public testing::TestWithParam<KernelSet> {
 protected:
  void SetUp() override {
    if (GetParam() > meshwise::detail::best_kernel_set()) GTEST_SKIP() << "this CPU has no such instructions";
    meshwise::detail::choose_kernel_set(GetParam());
  }
  void TearDown() override { meshwise::detail::choose_kernel_set(before_); }
  const KernelSet before_ = meshwise::detail::kernel_set();
};

TEST_P(EverySet, EqualsALoopOverElements) {
  const unsigned seed = 20261129;
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const auto extents = random_extents(random);
    const int64_t item = random_item(random);
    const Place from = random_place(random, extents, item, true);
    Place to = random_place(random, extents, item, false), wanted = to;
    naive_copy(extents, from, wanted, item);
    const Copier copier(extents.size(), extents.data(), from.strides.data(), to.strides.data(), static_cast<std::size_t>(item),
                        random() % 2 ? streamed : cached);
    std::vector<int64_t> order(static_cast<std::size_t>(copier.bands()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (const int64_t band : order) copier.run(from.memory.data() + from.base, to.memory.data() + to.base, band);
    ASSERT_TRUE(to.memory == wanted.memory) << "seed " << seed << ", round " << round << ", item of " << item;
  }
}

// Large enough for many bands, tiles and whole lines, in the shapes that have kernels of their own.
TEST_P(EverySet, BandsCoverOnce) {
  std::mt19937 random(7);
  for (const int64_t item : {1, 2, 3, 4, 8, 12, 16, 24, 32, 72, 128, 600}) {
    for (const bool transposed : {false, true}) {
      for (const int64_t total : {cached, streamed}) {
        const int64_t columns = transposed ? std::min<int64_t>(4200 / item, 700) + 5 : 3;
        const int64_t rows = std::max<int64_t>(300'000 / (columns * item), 11) + static_cast<int64_t>(random() % 9);
        const int64_t extents[] = {rows, columns}, gap = static_cast<int64_t>(random() % 3) * item;
        const int64_t across = transposed ? item : columns * item + gap, along = transposed ? rows * item : item;
        const int64_t from_strides[] = {across, along}, to_strides[] = {columns * item + gap, item};
        const Copier copier(2, extents, from_strides, to_strides, static_cast<std::size_t>(item), total);
        const std::vector<std::byte> from(static_cast<std::size_t>(rows * (columns * item + gap)), std::byte{1});
        std::vector<std::byte> to(from.size(), std::byte{0});
        int64_t covered = 0;
        for (int64_t band = 0; band < copier.bands(); ++band) {
          std::fill(to.begin(), to.end(), std::byte{0});
          copier.run(from.data(), to.data(), band);
          covered += std::count(to.begin(), to.end(), std::byte{1});
        }
        EXPECT_EQ(covered, rows * columns * item) << "item of " << item << (transposed ? ", transposed" : "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Copier, EverySet, testing::Values(KernelSet::portable, KernelSet::avx2, KernelSet::avx512), [](const auto& set) {
  return set.param == KernelSet::portable ? "portable" : set.param == KernelSet::avx2 ? "avx2" : "avx512";
});

TEST(Copier, WhoShouldDrive) {
  const auto made = [](int64_t rows, int64_t columns, int64_t from_row, int64_t to_row) {
    const int64_t extents[] = {rows, columns}, from[] = {from_row, 8}, to[] = {to_row, 8};
    return Copier(2, extents, from, to, 8, 0);
  };
  EXPECT_TRUE(made(1000, 4, 128, 32).short_source_runs());
  EXPECT_FALSE(made(1000, 4, 128, 32).short_target_runs());
  EXPECT_TRUE(made(1000, 4, 32, 128).short_target_runs());
  EXPECT_FALSE(made(1000, 64, 1024, 512).short_source_runs());  // 512 bytes are long
  EXPECT_FALSE(made(1000, 4, 128, 128).short_source_runs());    // equally short
  EXPECT_EQ(made(0, 4, 128, 32).bands(), 0);
  EXPECT_EQ(Copier().bands(), 0);
}

TEST(Copier, BandsOfNeighboursKeepStep) {
  // Columns 0-3 and 4-6 of the same rows: of unequal pieces, equal bands.
  const int64_t wide[] = {100000, 4}, narrow[] = {100000, 3}, from[] = {56, 8}, to_wide[] = {32, 8}, to_narrow[] = {24, 8};
  EXPECT_EQ(Copier(2, wide, from, to_wide, 8, streamed).bands(), Copier(2, narrow, from, to_narrow, 8, streamed).bands());
}

TEST(CopyBox, StreamsFromTheThresholdOn) {
  const auto before = meshwise::detail::streams_from();
  meshwise::detail::set_streams_from(1);
  std::vector<std::byte> from(5000), to(5003), wanted(5003);
  for (std::size_t k = 0; k < from.size(); ++k) from[k] = static_cast<std::byte>(k * 7);
  meshwise::detail::copy_box({from.data(), {5000}, {1}, 1}, {to.data() + 3, {5000}, {1}, 1});
  meshwise::detail::set_streams_from(before);
  std::memcpy(wanted.data() + 3, from.data(), from.size());
  EXPECT_TRUE(to == wanted);
}

TEST(KernelSets, AreAtMostWhatTheSettingSays) {
  const std::string asked = meshwise::setting("MESHWISE_KERNELS");
  const KernelSet most = asked == "portable" ? KernelSet::portable : asked == "avx2" ? KernelSet::avx2 : KernelSet::avx512;
  EXPECT_EQ(meshwise::detail::kernel_set(), std::min(most, meshwise::detail::best_kernel_set()));
}

}  // namespace

// copy_box against a loop over elements: any strides, any item size, transpositions, repeats and reversals.
// ranks: 1
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "support/runtime_calls.hpp"

namespace {

using meshwise::detail::StridedBox;

// A buffer and a box in it whose axes lie in a random order, with gaps, some reversed.
struct Place {
  std::vector<std::byte> memory;
  StridedBox box;
};

Place random_place(std::mt19937& random, const std::vector<std::int64_t>& extents, std::size_t itemsize, bool may_repeat) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<std::size_t> order(extents.size());
  std::iota(order.begin(), order.end(), 0U);
  if (pick(2) == 0) std::shuffle(order.begin(), order.end(), random);
  Place place;
  place.box.extents = {extents.begin(), extents.end()};
  place.box.itemsize = itemsize;
  place.box.strides.resize(extents.size());
  std::int64_t step = static_cast<std::int64_t>(itemsize), offset = 0;
  for (const std::size_t axis : order) {
    if (pick(4) == 0) step += static_cast<std::int64_t>(itemsize) * (1 + pick(3));
    if (may_repeat && pick(5) == 0) {
      place.box.strides[axis] = 0;
      continue;
    }
    place.box.strides[axis] = step;
    if (pick(5) == 0 && extents[axis] > 0) {
      place.box.strides[axis] = -step;
      offset += (extents[axis] - 1) * step;
    }
    step *= std::max<std::int64_t>(extents[axis], 1);
  }
  place.memory.resize(static_cast<std::size_t>(step) + itemsize);
  for (auto& byte : place.memory) byte = static_cast<std::byte>(random());
  place.box.base = place.memory.data() + offset;
  return place;
}

void naive_copy(const StridedBox& from, const StridedBox& to) {
  std::vector<std::int64_t> at(from.extents.size(), 0);
  for (const auto extent : from.extents) {
    if (extent == 0) return;
  }
  for (;;) {
    const std::byte* source = from.base;
    std::byte* target = to.base;
    for (std::size_t k = 0; k < at.size(); ++k) {
      source += at[k] * from.strides[k];
      target += at[k] * to.strides[k];
    }
    std::memcpy(target, source, from.itemsize);
    std::size_t k = at.size();
    while (k > 0 && ++at[k - 1] == from.extents[k - 1]) at[--k] = 0;
    if (k == 0) return;
  }
}

TEST(CopyBox, EqualsALoopOverElements) {
  std::mt19937 random(20240607);
  const std::int64_t lengths[] = {0, 1, 1, 2, 3, 5, 8, 31, 33, 70};
  const std::size_t items[] = {1, 2, 3, 4, 8, 12, 16, 64};
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::int64_t> extents(random() % 5);
    std::int64_t elements = 1;
    for (auto& extent : extents) {
      extent = elements > 300 ? 1 + static_cast<std::int64_t>(random() % 2) : lengths[random() % std::size(lengths)];
      elements *= extent;
    }
    const std::size_t itemsize = items[random() % std::size(items)];
    const Place from = random_place(random, extents, itemsize, true);
    Place to = random_place(random, extents, itemsize, false);
    Place wanted = to;
    wanted.box.base = wanted.memory.data() + (to.box.base - to.memory.data());
    meshwise::detail::copy_box(from.box, to.box);
    naive_copy(from.box, wanted.box);
    ASSERT_EQ(to.memory, wanted.memory) << "round " << round << ", item of " << itemsize;
  }
}

TEST(CopyBox, ManyAxes) {
  meshwise::PerAxis<std::int64_t> extents(40, 1), from_strides(40, 4), to_strides(40, 4);
  for (std::size_t k = 0; k < 20; ++k) extents[2 * k] = k % 5 == 0 ? 2 : 1;
  std::int64_t step = 4;
  for (std::size_t k = 0; k < 40; ++k) {
    from_strides[k] = step;
    step *= extents[k];
  }
  step = 4;
  for (std::size_t k = 40; k-- > 0;) {
    to_strides[k] = step;
    step *= extents[k];
  }
  std::vector<std::int32_t> from(16), to(16), wanted(16);
  std::iota(from.begin(), from.end(), 0);
  const auto box = [&](std::vector<std::int32_t>& memory, const meshwise::PerAxis<std::int64_t>& strides) {
    return StridedBox{reinterpret_cast<std::byte*>(memory.data()), extents, strides, 4};
  };
  meshwise::detail::copy_box(box(from, from_strides), box(to, to_strides));
  naive_copy(box(from, from_strides), box(wanted, to_strides));
  EXPECT_EQ(to, wanted);
}

}  // namespace

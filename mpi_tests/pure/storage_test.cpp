// Who writes what of a checkpoint: every element in one piece, held by who writes it, and replicas shared out.
// internals: src
#include <gtest/gtest.h>

#include <map>
#include <meshwise/placement/sharding.hpp>
#include <random>

#include "plan/storage.hpp"

namespace {

using namespace meshwise;
using detail::ArrayToStore;
using detail::boxes_of_run;
using detail::plan_storage;
using detail::StoragePlan;

NamedSharding on(std::vector<std::int64_t> sizes, std::vector<std::string> names, const PartitionSpec& spec) {
  return {make_mesh(sizes, names, {.devices = DeviceList::virtual_devices(8)}), spec};
}

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.ndim()), 1);
  for (auto axis = shape.ndim() - 1; axis-- > 0;)
    strides[static_cast<std::size_t>(axis)] = strides[static_cast<std::size_t>(axis) + 1] * shape[axis + 1];
  return strides;
}

// The row-major numbers of a box's elements in an array of that shape, by counting.
std::vector<std::int64_t> numbers(const Shape& shape, const Index& box) {
  std::vector<std::int64_t> all{0};
  const auto strides = strides_of(shape);
  for (std::int64_t axis = 0; axis < shape.ndim(); ++axis) {
    std::vector<std::int64_t> next;
    for (const auto number : all)
      for (auto at = box[axis].start; at < box[axis].stop; ++at) next.push_back(number + at * strides[static_cast<std::size_t>(axis)]);
    all = std::move(next);
  }
  return all;
}

void check(const std::vector<ArrayToStore>& arrays, std::int64_t ranks) {
  const auto plan = plan_storage(arrays, ranks);
  std::vector<std::vector<int>> seen;
  for (const auto& array : arrays) seen.emplace_back(static_cast<std::size_t>(array.shape.num_elements()), 0);
  std::map<std::tuple<std::int64_t, Dtype>, std::vector<std::pair<std::int64_t, std::int64_t>>> extents;
  std::int64_t last = 0;
  for (const auto& piece : plan.pieces) {
    EXPECT_GE(piece.array, last);  // by array
    last = piece.array;
    const auto& array = arrays[static_cast<std::size_t>(piece.array)];
    for (const auto number : numbers(array.shape, piece.box))
      ++seen[static_cast<std::size_t>(piece.array)][static_cast<std::size_t>(number)];
    if (array.sharding) {  // the writer has it
      const auto held = array.sharding->index_at(array.shape, piece.position);
      EXPECT_EQ(array.sharding->devices()[piece.position].rank, piece.writer);
      EXPECT_EQ(detail::intersection(held, piece.box), piece.box);
    }
    const auto bytes = piece.box.num_elements() * static_cast<std::int64_t>(itemsize(array.dtype));
    EXPECT_EQ(piece.offset % static_cast<std::int64_t>(itemsize(array.dtype)), 0);
    EXPECT_TRUE(bytes < detail::aligned_from || piece.offset % detail::box_alignment == 0);
    extents[{piece.writer, array.dtype}].emplace_back(piece.offset, bytes);
  }
  for (const auto& each : seen)
    for (const auto times : each) ASSERT_EQ(times, 1);
  for (auto& [where, pieces] : extents) {
    const auto& [writer, dtype] = where;
    std::int64_t end = 0;
    for (const auto& [offset, bytes] : pieces) {
      EXPECT_GE(offset, end);
      EXPECT_LT(offset - end, detail::box_alignment);
      end = offset + bytes;
    }
    EXPECT_EQ(plan.run_bytes[static_cast<std::size_t>(writer)][static_cast<std::size_t>(dtype)], end);
  }
}

TEST(Storage, EveryElementOnce) {
  detail::set_world(8, 1, 0);
  std::mt19937 engine(3);
  const std::vector<NamedSharding> shardings{on({8}, {"x"}, P("x")),
                                             on({8}, {"x"}, P()),
                                             on({2, 4}, {"x", "y"}, P("x")),
                                             on({2, 4}, {"x", "y"}, P("y", "x")),
                                             on({2, 2, 2}, {"x", "y", "z"}, P({"x", "z"})),
                                             on({2, 2, 2}, {"x", "y", "z"}, P(nullptr, "y"))};
  const std::vector<Shape> shapes{{1, 1}, {3, 5}, {64, 700}, {0, 4}, {1, 40000}, {17, 3}, {300, 2}};
  const Dtype dtypes[] = {int8, float32, complex128};
  for (int round = 0; round < 40; ++round) {
    std::vector<ArrayToStore> arrays;
    for (int k = 0; k < 5; ++k) {
      ArrayToStore array{shapes[engine() % shapes.size()], dtypes[engine() % 3], {}};
      if (engine() % 4 != 0) array.sharding = shardings[engine() % shardings.size()];
      arrays.push_back(std::move(array));
    }
    check(arrays, 8);
  }
}

TEST(Storage, ReplicasAreSharedOut) {
  detail::set_world(8, 1, 0);
  const auto plan = plan_storage(std::vector<ArrayToStore>{{{1 << 20}, float32, on({2, 4}, {"x", "y"}, P("x"))}}, 8);
  for (const auto& run : plan.run_bytes) EXPECT_EQ(run[static_cast<std::size_t>(float32)], (4 << 20) / 8);
  std::vector<ArrayToStore> many(800, {{100}, float32, on({8}, {"x"}, P())});
  for (const auto& run : plan_storage(many, 8).run_bytes)
    EXPECT_EQ(run[static_cast<std::size_t>(float32)], 100 * 400);  // small ones: whole, in turn
}

TEST(Storage, RunsAreBoxes) {
  std::mt19937 engine(4);
  for (const auto& shape : {Shape{}, Shape{7}, Shape{3, 5}, Shape{2, 3, 4}, Shape{2, 1, 3, 2}, Shape{1, 1}}) {
    const auto all = shape.num_elements();
    for (std::int64_t first = 0; first < all; ++first)
      for (std::int64_t count = 0; first + count <= all; ++count) {
        std::vector<std::int64_t> got;
        const auto boxes = boxes_of_run(shape, first, count);
        for (const auto& box : boxes)
          for (const auto number : numbers(shape, box)) got.push_back(number);
        ASSERT_EQ(std::ssize(got), count);
        for (std::int64_t k = 0; k < count; ++k) ASSERT_EQ(got[static_cast<std::size_t>(k)], first + k);
        EXPECT_LE(std::ssize(boxes), std::max<std::int64_t>(1, 2 * shape.ndim() - 1));
      }
  }
}

}  // namespace

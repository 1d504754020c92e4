#pragma once
// A tree whose every byte is a function of step, array and element, placed by chance: any rank of any job can tell what it should hold.

#include <meshwise/io/checkpoint.hpp>
#include <meshwise/meshwise.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "support/random_placement.hpp"

namespace faults {

namespace mw = meshwise;

struct Leaf {
  mw::Shape shape{};
  mw::Dtype dtype = mw::float32;
};

/// Local. What the tree's leaves are, in flattening order. MESHWISE_TEST_ROWS: of the largest, 512 bytes a row.
inline std::vector<Leaf> leaves() {
  const char* const rows = std::getenv("MESHWISE_TEST_ROWS");
  return {{{rows == nullptr ? 300 : std::atoll(rows), 64}, mw::float64},
          {{}, mw::int32},
          {{33, 17}, mw::bfloat16},
          {{0, 4}, mw::float64},
          {{257}, mw::int64},
          {{12, 7}, mw::bool_},
          {{5, 3, 4}, mw::complex64},
          {{160, 24}, mw::float32}};
}

inline mw::Tree with_leaves(const std::vector<mw::Array>& x) {
  return mw::Tree{{"big", x[0]},
                  {"count", x[1]},
                  {"params", mw::Tree{{"half", x[2]}, {"none", x[3]}}},
                  {"state", mw::Tree::list({x[4], x[5]})},
                  {"z", mw::Tree::tuple({x[6], x[7]})}};
}

/// Local. The bytes of one element (splitmix64), the first `size` of them.
inline void put_element(std::int64_t step, std::size_t array, std::int64_t element, mw::Dtype dtype, std::byte* out) {
  auto x = (static_cast<std::uint64_t>(step) * 64 + array) * 0x100000000ULL + static_cast<std::uint64_t>(element) + 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  x ^= x >> 31U;
  if (dtype == mw::bool_) x &= 1U;
  std::memcpy(out, &x, mw::itemsize(dtype));
}

/// Local. Calls f(element's number in the whole array, its byte offset in a dense block of the box), in order.
template <class F>
void for_each_element(const mw::Shape& shape, const mw::Index& box, std::size_t size, F&& f) {
  std::int64_t count = 1;
  for (const auto& range : box) count *= range.size();
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t number = 0, rest = k, stride = 1;
    for (std::int64_t d = box.ndim(); d-- > 0;) {
      number += (box[d].start + rest % box[d].size()) * stride;
      rest /= box[d].size();
      stride *= shape[d];
    }
    f(number, static_cast<std::size_t>(k) * size);
  }
}

/// Synchronising. The tree of a step, each leaf placed as the seed says; leaf 1 on no device in particular.
inline mw::Tree grown(std::int64_t step, std::uint64_t seed) {
  mw::testing::RandomPlacement random(seed);
  std::vector<mw::Array> arrays;
  for (const auto& leaf : leaves()) {
    const auto array = arrays.size();
    const auto fill = [&](const mw::Index& box, mw::LocalArray& out) {
      for_each_element(leaf.shape, box, mw::itemsize(leaf.dtype),
                       [&](std::int64_t number, std::size_t at) { put_element(step, array, number, leaf.dtype, out.data() + at); });
    };
    const auto sharding = random.sharding(leaf.shape.ndim());
    if (array != 1) {
      arrays.push_back(mw::make_array_from_callback(leaf.shape, leaf.dtype, sharding, fill));
      continue;
    }
    mw::LocalArray values(leaf.shape, leaf.dtype);
    fill({}, values);
    arrays.push_back(mw::asarray(values));
  }
  return with_leaves(arrays);
}

/// Collective. Where the leaves of grown(., seed) lie, with other values.
inline mw::Tree like(std::uint64_t seed) {
  mw::testing::RandomPlacement random(seed);
  std::vector<mw::Array> arrays;
  for (const auto& leaf : leaves()) {
    const auto sharding = random.sharding(leaf.shape.ndim());
    const auto zeros = mw::zeros(leaf.shape, leaf.dtype);
    arrays.push_back(arrays.size() == 1 ? zeros : mw::device_put(zeros, sharding));
  }
  return with_leaves(arrays);
}

/// Local. What of this rank's values is not the step's; empty: nothing.
inline std::string wrong(const mw::Tree& tree, std::int64_t step) {
  const auto arrays = mw::tree_leaves(tree);
  const auto wanted = leaves();
  if (arrays.size() != wanted.size()) return "the number of leaves";
  for (std::size_t array = 0; array < wanted.size(); ++array) {
    const auto& leaf = wanted[array];
    if (!(arrays[array].shape() == leaf.shape) || arrays[array].dtype() != leaf.dtype)
      return "leaf " + std::to_string(array) + " is another array";
    for (const auto& shard : arrays[array].addressable_shards()) {
      const auto dense = shard.data().contiguous();
      const auto size = mw::itemsize(leaf.dtype);
      std::int64_t bad = 0;
      for_each_element(leaf.shape, shard.index(), size, [&](std::int64_t number, std::size_t at) {
        std::byte want[16];
        put_element(step, array, number, leaf.dtype, want);
        bad += std::memcmp(want, dense.data() + at, size) != 0 ? 1 : 0;
      });
      if (bad > 0) return "leaf " + std::to_string(array) + ": " + std::to_string(bad) + " elements of " + mw::to_string(shard.index());
    }
  }
  return {};
}

}  // namespace faults

// ranks: 1 3 4
// devices_per_rank: 8
// timeout: 300
// Random programs of thirty operations on random meshes and specs: jitted against the same run as it stands, bit for bit where no sum is rounded, and against the program on one device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/exact.hpp"

namespace mw = meshwise;
using mw::Array, mw::NamedSharding, mw::Shape;
using mw::testing::RandomPlacement;

namespace {

// The same operations for the same seed, whatever runs them. Values stay within [-1, 1] and arrays square.
struct RandomProgram {
  std::uint64_t seed;
  bool sums;  // float sums are among the operations

  std::vector<Array> operator()(const std::vector<Array>& given) const {
    RandomPlacement random(seed);
    auto values = given;
    const auto any = [&]() -> const Array& { return values[static_cast<std::size_t>(random.below(std::ssize(values)))]; };
    for (int k = 0; k < 30; ++k) {
      const auto& x = any();
      const auto& y = any();
      const auto axis = random.below(2);
      // What is sorted, or chosen, by sums that are rounded otherwise would be another element.
      static constexpr std::int64_t with_sums[] = {0, 1, 2, 5, 6, 7, 8, 10, 12, 13, 14, 15};
      switch (sums ? with_sums[random.below(std::ssize(with_sums))] : random.below(13)) {
        case 0: values.push_back((x + y) * 0.5f); break;
        case 1: values.push_back(x * y); break;
        case 2: values.push_back(mw::tanh(x - y)); break;
        case 3: values.push_back(mw::maximum(x, -y)); break;
        case 4: values.push_back(mw::where(mw::greater(x, y), x, 0.25f)); break;
        case 5: values.push_back(mw::abs(x) - mw::square(y)); break;
        case 6: values.push_back(x.T()); break;
        case 7: values.push_back(mw::flip(mw::roll(x, 2, axis), {axis})); break;
        case 8: values.push_back(mw::max(x, {axis}, true) * y); break;
        case 9: values.push_back(mw::sort(x, axis)); break;
        case 10: values.push_back(mw::concatenate({y[{mw::Slice(1, mw::none)}], x[{mw::Slice(0, 1)}]}, 0)); break;
        case 11: values.push_back(mw::take(x, mw::argmin(y, axis), 0)); break;
        case 12: values.push_back(mw::at(x, {0}).set(y[-1])); break;
        case 13: values.push_back(x - mw::mean(x, {axis}, true)); break;
        case 14: values.push_back(mw::matmul(x, y) / static_cast<float>(x.shape()[0])); break;
        default: values.push_back(mw::softmax(x, axis)); break;
      }
    }
    return {values.back(), values[values.size() - 5], values[values.size() / 2]};
  }
};

TEST(JitRandom, ProgramsOfThirtyOperations) {
  const int programs = mw::process_count() == 1 ? 2000 : 60;
  for (int k = 0; k < programs; ++k) {
    const auto seed = static_cast<std::uint64_t>(k);
    RandomPlacement random(seed + 7);
    const auto mesh = random.mesh();
    const auto n = 1 + random.below(6);
    const RandomProgram program{seed, k % 2 == 0};
    std::vector<Array> whole, placed;
    for (std::int64_t i = 0; i < 3; ++i) {
      whole.push_back(mw::random::uniform(mw::random::key(3 * k + i), {n, n}, mw::float32, -1, 1));
      placed.push_back(mw::device_put(whole.back(), NamedSharding(mesh, random.spec(mesh, 2))));
    }
    const auto jitted = mw::jit(program);
    const auto got = jitted(placed), want = program(placed), alone = program(whole);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(got[i].sharding() == want[i].sharding() && got[i].committed()) << seed << ": " << mw::type_string(got[i]) << " for " << mw::type_string(want[i]);
      const auto a = mw::device_get(got[i]).contiguous(), b = mw::device_get(want[i]).contiguous(), c = mw::device_get(alone[i]).contiguous();
      ASSERT_EQ(a.shape(), b.shape()) << seed;
      if (program.sums) {
        for (std::int64_t j = 0; j < a.size(); ++j) {
          const auto value = reinterpret_cast<const float*>(a.data())[j];
          ASSERT_NEAR(value, reinterpret_cast<const float*>(b.data())[j], 1e-4f * std::max(1.0f, std::abs(value))) << seed;
          ASSERT_NEAR(value, reinterpret_cast<const float*>(c.data())[j], 1e-4f * std::max(1.0f, std::abs(value))) << seed;
        }
        continue;
      }
      ASSERT_EQ(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.nbytes())), 0) << seed;
      ASSERT_EQ(std::memcmp(a.data(), c.data(), static_cast<std::size_t>(a.nbytes())), 0) << seed;
    }
  }
}

}  // namespace

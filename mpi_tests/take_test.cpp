// ranks: 1 2 3 4 6 8
// devices_per_rank: 8
// counters
// variant: private ranks=4 MESHWISE_STORE=private
// variant: lockstep ranks=4 MESHWISE_CHECK=lockstep
// Elements by arrays of indices, of any layout and dtype, also where the gathered axis is cut and stays so: byte for byte what plain loops take.
#include <gtest/gtest.h>

#include <cmath>

#include "support/counters.hpp"
#include "support/exact.hpp"

namespace mw = meshwise;
using mw::Array, mw::IndexMode, mw::LocalArray, mw::NamedSharding, mw::P, mw::Shape;
using mw::testing::RandomPlacement;

namespace {

// Any bytes: NaNs of all kinds and negative zeros too. A bool is 0 or 1.
LocalArray any_bytes(RandomPlacement& random, const Shape& shape, mw::Dtype dtype) {
  LocalArray out(shape, dtype);
  for (std::int64_t i = 0; i < out.nbytes(); ++i) out.data()[i] = static_cast<std::byte>(random.below(dtype == mw::bool_ ? 2 : 256));
  return out;
}

std::int64_t resolved(std::int64_t index, std::int64_t n, IndexMode mode) {
  if (mode == IndexMode::wrap) return (index % n + n) % n;
  if (index < 0) index += n;
  if (mode == IndexMode::clip) return std::clamp<std::int64_t>(index, 0, n - 1);
  return index < 0 || index >= n ? -1 : index;
}

struct Drawn {
  Shape shape;
  std::int64_t axis;
  mw::Dtype dtype;
  IndexMode mode;
  LocalArray host;
  Array x;
};

Drawn drawn(RandomPlacement& random, const mw::Mesh& mesh) {
  Drawn d;
  d.shape = random.shape(1 + random.below(3));
  d.axis = random.below(d.shape.ndim());
  d.shape[d.axis] = 1 + random.below(random.below(2) == 0 ? 80 : 9);
  d.dtype = random.dtype();
  d.mode = static_cast<IndexMode>(random.below(3));
  d.host = any_bytes(random, d.shape, d.dtype);
  d.x = mw::testing::placed(random, d.host, mesh);
  return d;
}

LocalArray indices_of(RandomPlacement& random, const Shape& shape, std::int64_t n) {
  LocalArray out(shape, mw::int64);
  for (auto& i : out.mutable_view<std::int64_t>()) i = random.below(4 * n) - 2 * n;
  return out;
}

// The element that `from` names of x's, for each of the result's; where it is none, a filler: one of x's type that is taken of another array out of range.
template <class F>
void expect_taken(const Array& got, const Drawn& d, const Shape& result, F&& from, const std::string& what) {
  ASSERT_EQ(got.shape(), result) << what;
  ASSERT_EQ(got.dtype(), d.dtype) << what;
  const auto filler = mw::device_get(mw::take(mw::zeros({1}, d.dtype), mw::asarray({7}))).contiguous();
  const auto whole = mw::device_get(got);
  const auto values = whole.contiguous();
  const auto item = mw::itemsize(d.dtype);
  for (std::int64_t k = 0; k < values.size(); ++k) {
    const auto place = from(mw::testing::coordinates(k, result));
    const auto* want = place < 0 ? filler.data() : d.host.data() + static_cast<std::size_t>(place) * item;
    ASSERT_EQ(std::memcmp(values.data() + static_cast<std::size_t>(k) * item, want, item), 0) << what << ", element " << k;
  }
  for (const auto& shard : got.addressable_shards()) {
    const auto mine = shard.data().contiguous(), part = whole.box(shard.index()).contiguous();
    ASSERT_EQ(mine.shape(), part.shape()) << what;
    ASSERT_TRUE(mine.size() == 0 || std::memcmp(mine.data(), part.data(), static_cast<std::size_t>(part.nbytes())) == 0) << what;
  }
}

std::int64_t number(const std::vector<std::int64_t>& at, const Shape& shape) {
  std::int64_t out = 0;
  for (std::int64_t d = 0; d < shape.ndim(); ++d) out = out * shape[d] + at[static_cast<std::size_t>(d)];
  return out;
}

TEST(Take, EveryDtypeAxisModeAndLayout) {
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto d = drawn(random, mesh);
    const auto of_indices = random.shape(random.below(3));
    const auto host = indices_of(random, of_indices, d.shape[d.axis]);
    const auto indices = mw::testing::placed(random, host, mesh);
    const auto got = mw::take(d.x, indices, d.axis, d.mode);
    Shape result;
    for (std::int64_t a = 0; a < d.axis; ++a) result.push_back(d.shape[a]);
    for (const auto n : of_indices) result.push_back(n);
    for (std::int64_t a = d.axis + 1; a < d.shape.ndim(); ++a) result.push_back(d.shape[a]);
    const auto from = [&](std::vector<std::int64_t> at) {
      const auto begin = at.begin() + d.axis, end = begin + of_indices.ndim();
      const auto i = resolved(host.view<std::int64_t>()[number({begin, end}, of_indices)], d.shape[d.axis], d.mode);
      at.insert(at.erase(begin, end), i);
      return i < 0 ? -1 : number(at, d.shape);
    };
    expect_taken(
        got, d, result, from,
        fmt::format("seed {}: {} by {} along {} on {}", seed, mw::type_string(d.x), mw::type_string(indices), d.axis, mw::to_string(mesh)));
  }
}

TEST(Take, AlongAnAxisOfEveryDtypeModeAndLayout) {
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    RandomPlacement random(seed);
    const auto mesh = random.mesh();
    const auto d = drawn(random, mesh);
    auto of_indices = d.shape;
    for (std::int64_t a = 0; a < d.shape.ndim(); ++a)
      if (a == d.axis)
        of_indices[a] = random.below(6);
      else if (random.below(3) == 0)
        of_indices[a] = 1;
    const auto host = indices_of(random, of_indices, d.shape[d.axis]);
    const auto indices = mw::testing::placed(random, host, mesh);
    const auto got = mw::take_along_axis(d.x, indices, d.axis, d.mode);
    auto result = d.shape;
    result[d.axis] = of_indices[d.axis];
    for (std::int64_t a = 0; a < result.ndim(); ++a)
      if (a != d.axis && result[a] == 1) result[a] = of_indices[a];
    const auto from = [&](std::vector<std::int64_t> at) {
      auto place = at;
      for (std::int64_t a = 0; a < of_indices.ndim(); ++a)
        if (of_indices[a] == 1) place[static_cast<std::size_t>(a)] = 0;
      const auto i = resolved(host.view<std::int64_t>()[number(place, of_indices)], d.shape[d.axis], d.mode);
      at[static_cast<std::size_t>(d.axis)] = i;
      return i < 0 ? -1 : number(at, d.shape);
    };
    expect_taken(
        got, d, result, from,
        fmt::format("seed {}: {} by {} along {} on {}", seed, mw::type_string(d.x), mw::type_string(indices), d.axis, mw::to_string(mesh)));
  }
}

// A table cut by its rows: what moves is of the size of the rows asked for.
TEST(Take, RowsMoveAndNotTheTable) {
  const auto n = mw::devices().size();
  const auto mesh = mw::make_mesh({n}, {"x"});
  const std::int64_t rows = 4096 * n, width = 64;
  const auto table = mw::device_put(mw::arange(rows * width).reshape({rows, width}), NamedSharding(mesh, P("x")));
  std::vector<std::int32_t> wanted;
  for (std::int32_t i = 0; i < 32; ++i) wanted.push_back(static_cast<std::int32_t>(i * 977 % rows));
  const auto indices = mw::device_put(mw::asarray(wanted), NamedSharding(mesh, P("x")));
  const auto before = support::snapshot_all_threads();
  const auto got = mw::block_until_ready(table[indices]);
  const auto sent = support::snapshot_all_threads() - before;
  EXPECT_LT(sent.bytes, static_cast<std::uint64_t>(32 * width * 4 * 8 + 65536)) << support::to_string(sent);
  EXPECT_TRUE(got.sharding() == indices.sharding());
  const auto values = mw::device_get(got);
  for (std::int64_t k = 0; k < 32; ++k) ASSERT_EQ(values.view<std::int32_t>()(k, 5), wanted[static_cast<std::size_t>(k)] * width + 5);
}

}  // namespace

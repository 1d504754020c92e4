#pragma once
// Seeded random placements, the same on every rank, and the naive value an element should have.

#include <meshwise/meshwise.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace meshwise::testing {

/// Draws meshes over any devices in any order, specs that use each mesh axis at most once, and awkward shapes.
class RandomPlacement {
 public:
  explicit RandomPlacement(std::uint64_t seed) : engine_(seed) {}

  std::int64_t below(std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(0, n - 1)(engine_); }

  Mesh mesh() {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(devices().size()));
    std::iota(ids.begin(), ids.end(), 0);
    if (below(2) == 0) std::shuffle(ids.begin(), ids.end(), engine_);
    std::vector<std::int64_t> sizes;
    std::int64_t room = devices().size();
    for (std::int64_t axis = 0, axes = 1 + below(3); axis < axes; ++axis) {
      sizes.push_back(1 + below(room));
      room /= sizes.back();
    }
    const std::vector<std::string> names{"x", "y", "z"};
    return make_mesh(sizes, {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(sizes.size())}, {.devices = DeviceList(ids)});
  }

  PartitionSpec spec(const Mesh& mesh, std::int64_t ndim) {
    std::vector<std::vector<std::string>> entries(static_cast<std::size_t>(ndim));
    auto names = mesh.axis_names();
    std::shuffle(names.begin(), names.end(), engine_);
    for (const auto& axis : names)
      if (ndim > 0 && below(4) != 0) entries[static_cast<std::size_t>(below(ndim))].push_back(axis);
    std::vector<SpecEntry> out;
    for (auto& e : entries) out.emplace_back(std::move(e));
    while (!out.empty() && out.back().empty() && below(2) == 0) out.pop_back();  // short specs pad
    return PartitionSpec(std::move(out));
  }

  NamedSharding sharding(std::int64_t ndim) {
    const auto m = mesh();
    return NamedSharding(m, spec(m, ndim));
  }

  Shape shape(std::int64_t ndim) {
    static constexpr std::int64_t lengths[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 16, 17};
    Shape out;
    for (std::int64_t d = 0; d < ndim; ++d) {
      const auto pick = below(16);
      out.push_back(pick < 14 && (pick != 0 || below(4) == 0) ? lengths[pick] : 1 + below(24));
    }
    return out;
  }

  Dtype dtype() { return static_cast<Dtype>(below(15)); }

 private:
  std::mt19937_64 engine_;
};

/// An uncommitted array whose element at row-major index i is i (mod 2 for bool, mod 100 for small types).
inline Array counting(const Shape& shape, Dtype dtype) {
  LocalArray values(shape, dtype);
  for (std::int64_t i = 0; i < values.size(); ++i) Scalar(dtype == bool_ ? i % 2 : i % 100).store(dtype, values.data() + static_cast<std::size_t>(i) * itemsize(dtype));
  return asarray(values);
}

/// Whether a block holds counting(shape, dtype)'s values in `box`, element by element.
inline bool holds_counting(const LocalArray& block, const Shape& shape, const Index& box) {
  if (!(block.shape() == box.shape())) return false;
  const auto strides = row_major_strides(shape);
  const auto dense = block.contiguous();
  std::vector<std::int64_t> at(static_cast<std::size_t>(box.ndim()), 0);
  std::byte want[16];
  for (std::int64_t k = 0; k < block.size(); ++k) {
    std::int64_t linear = 0, rest = k;
    for (std::int64_t d = box.ndim(); d-- > 0;) {
      linear += (box[d].start + rest % box[d].size()) * strides[static_cast<std::size_t>(d)];
      rest /= box[d].size();
    }
    Scalar(block.dtype() == bool_ ? linear % 2 : linear % 100).store(block.dtype(), want);
    if (std::memcmp(want, dense.data() + static_cast<std::size_t>(k) * itemsize(block.dtype()), itemsize(block.dtype())) != 0) return false;
  }
  return true;
}

/// What is wrong with this rank's shards of an array that should hold counting's values; empty if nothing.
inline std::string wrong_shards(const Array& x) {
  for (const auto& shard : x.addressable_shards()) {
    if (!(shard.index() == x.sharding().index_at(x.shape(), *x.sharding().devices().position_of(shard.device().id))))
      return "index of device " + std::to_string(shard.device().id);
    if (!holds_counting(shard.data(), x.shape(), shard.index()))
      return "values of device " + std::to_string(shard.device().id) + " at " + to_string(shard.index());
  }
  return {};
}

}  // namespace meshwise::testing

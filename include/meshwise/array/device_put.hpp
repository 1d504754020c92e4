#pragma once
// Placing and moving: a new array, and the old one until you drop it.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>

#include "meshwise/array/array.hpp"
#include "meshwise/array/create.hpp"
#include "meshwise/array/tree.hpp"
#include "meshwise/plan/redistribution.hpp"

namespace meshwise {

struct PutOptions {
  bool donate = false;  // the source's blocks are reused or freed; later use of the source is DonatedError on every rank
};

/// Collective. x placed on the target, committed; x itself is untouched unless donated. Returns at once, the transfer proceeds.
/// Equal sharding: x itself. Equal boxes: shared buffers, no bytes. Same mesh: a reshard. Other devices or order: a move.
/// `where`: the place in the program, which errors of jit name. Throws, the same on every rank before any byte moves: PlacementError (spec longer than ndim), DonatedError.
Array device_put(const Array& x, const Sharding& target, PutOptions options = {}, std::source_location where = std::source_location::current());
Array device_put(const Array& x, const Device& target, PutOptions options = {}, std::source_location where = std::source_location::current());
/// Collective. No target: x itself, flag unchanged.
Array device_put(const Array& x, const Target& target = {}, PutOptions options = {}, std::source_location where = std::source_location::current());
/// Collective. Every leaf; `target` is none, one target for all leaves, or a tree that is a prefix of the data's. All leaves are checked before any
/// byte moves. The data may be what a Tree is made from: device_put(std::tuple{x, 1.0}, s) is a tuple of two arrays.
/// Throws: PlacementError naming the key path and what was found on both sides.
Tree device_put(const Tree& tree, const ShardingTree& target = {}, PutOptions options = {});

/// Collective. Host values as asarray takes them: every rank passes the same and keeps its own part. No target: uncommitted, on the default device.
template <HostValues T>
Array device_put(const T& values, const Target& target = {}, PutOptions options = {}) {
  return device_put(asarray(values), target, options);
}
template <std::convertible_to<Target> Where = Target>
Array device_put(std::initializer_list<NestedValues> values, const Where& target = {}, PutOptions options = {}) {
  return device_put(asarray(values), Target(target), options);
}

/// Local. Data that only rank `root` has; shape and dtype are given on every rank.
struct RootOnly {
  LocalArray data;
  Shape shape;
  Dtype dtype;
  std::int64_t root;
};
RootOnly root_only(const LocalArray& data, const Shape& shape, Dtype dtype, std::int64_t root = 0);
/// Collective. Scatters the root's values. Synchronising where the root checks their shape and dtype and copies them.
Array device_put(const RootOnly& data, const Sharding& target);

/// Collective. x in another layout over the same ordered devices. Throws: CommitmentError naming both ordered id lists (use device_put).
Array reshard(const Array& x, const Sharding& target);
Array reshard(const Array& x, const PartitionSpec& spec);
/// Collective. On Auto axes reshard under the name that it has inside jit. On Explicit ones x itself, where its type has the target's spec: an assertion. Throws:
/// CommitmentError for other devices, ShardingTypeError naming both specs (use reshard).
Array with_sharding_constraint(const Array& x, const Sharding& target);
Array with_sharding_constraint(const Array& x, const PartitionSpec& spec);

/// Collective. The whole value on every rank, in host memory.
LocalArray device_get(const Array& x);
/// Collective. The whole value on rank `root`; elsewhere an empty LocalArray of shape (0).
LocalArray device_get(const Array& x, std::int64_t root);

}  // namespace meshwise

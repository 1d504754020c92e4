#pragma once
// Arrays and stored values, whatever the file's format: which elements a call is about, and which of them are this rank's.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "array/state.hpp"
#include "io/packed_text.hpp"
#include "meshwise/array/tree.hpp"
#include "meshwise/io/read_options.hpp"

namespace meshwise::detail {

/// Local. What a file says of an array before its values are read.
struct Found {
  Dtype dtype = Dtype::float32;
  Shape shape{};
  friend bool operator==(const Found&, const Found&) = default;
};
std::string type_text(const Found& found);  // `uint8[4,8,8]`
void pack(PackedText& text, const Found& found);
Found unpack_found(UnpackedText& text);

/// Local. Elements of a stored array: start + k * step along each axis, k below the shape's length there.
struct Region {
  Shape shape{};
  PerAxis<std::int64_t> start{}, step{};
};

/// Local. The sharding of a target; nothing where it is nowhere in particular.
std::optional<Sharding> sharding_of(const Target& target);

/// Local. One array that a call reads: where it goes, and this rank's values of it.
class Placed {
 public:
  /// Throws, from metadata alone: IndexError when the options don't fit the stored array; CheckpointError when the target's spec doesn't.
  Placed(const std::string& call, const Found& found, const Target& target, const io::ReadOptions& options = {});
  bool is_needed_here() const;
  /// Local. Takes the values of each distinct box of this rank's devices from `values`, and shares them between devices that have the same.
  void read(const std::function<LocalArray(const Region&)>& values);
  /// Local. The array, once every rank has read.
  Array array();

 private:
  Region part(const Index& box) const;
  Dtype dtype_;
  Region region_{};
  std::optional<Sharding> sharding_{};
  std::vector<LocalShard> shards_{};
  LocalArray everywhere_{};
};

/// Local. Placements and options in a call's words: equal words are equal places.
std::string words_of(const Sharding& sharding);
std::string words_of(const ShardingTree& targets);
std::string words_of(const io::ReadOptions& options);
/// Local. Text of any length as words of bounded length, different for different texts.
std::string shortened(const std::string& text);

/// Collective. x, or, where its shards' values lie in a file as many short runs, x in rows on the same devices: a system call for every few bytes costs
/// twenty times as much. Throws, the same on every rank.
Array in_long_runs(const Array& x);

/// Local. Calls f with each box that this rank writes, each distinct box of x on one rank alone, and its values, dense; no more than a bounded part
/// of them is copied at a time.
void for_each_piece(const Array& x, const std::function<void(const Index&, const LocalArray&)>& f);

/// Local. The ranks that for_each_piece has something for, in ascending order; the same on every rank.
std::vector<std::int64_t> writing_ranks(const Array& x);

/// Local. Cuts a box into boxes for which `small_enough` says so, or which are one element, in row-major order, and calls f with each.
void cut(const Index& box, const std::function<bool(const Index&)>& small_enough, const std::function<void(const Index&)>& f);

}  // namespace meshwise::detail

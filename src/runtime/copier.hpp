#pragma once
// A strided copy decided once and run in bands, by any thread or process that has both memories.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace meshwise::detail {

/// Local. A copy of a box of `extents` items of `itemsize` bytes between two memories. Strides are bytes between neighbours, of any sign; 0 in the
/// source repeats. Example: columns [4, 8) of 1000 rows of 16 doubles, into a block of their own, is
/// `Copier(2, {1000, 4}, {128, 8}, {32, 8}, 8, total)`; its run is 32 bytes, and its first band is rows [0, 512).
///
/// Equal numbers make equal copiers, in every process. Several copiers whose runs interleave in the same lines (the pieces of one row block that go
/// to different column blocks) are to be run band by band in turn, in proportion to their bands(): then a line is fetched once for all of them.
class Copier {
 public:
  /// Local. No band of a copier made from now on is larger, where it can be smaller; the same in all processes. Tests lower it.
  static void set_most_band_bytes(std::int64_t bytes);

  /// Local. Nothing to do.
  Copier() = default;
  /// Local. `total_bytes`: what the whole call moves on this rank; from `streams_from()` on the target is written past the caches.
  Copier(std::size_t ndim, const std::int64_t* extents, const std::int64_t* from_strides, const std::int64_t* to_strides,
         std::size_t itemsize, std::int64_t total_bytes);

  /// Local. How many bands there are, 0 for an empty box; they cover the box and are disjoint.
  std::int64_t bands() const { return bands_; }
  /// Local. The source's runs are shorter than 512 bytes and than the target's: whoever owns the source should drive.
  bool short_source_runs() const { return short_source_; }
  /// Local. The target's runs are shorter than 512 bytes and than the source's: whoever owns the target should drive.
  bool short_target_runs() const { return short_target_; }
  /// Local. Copies one band, 0 <= band < bands(); bands may run in any order and on several threads. What was streamed is fenced on return.
  void run(const std::byte* from, std::byte* to, std::int64_t band) const;
  /// Local. The same, but others may not be told of it before this thread has called fence(): several small bands share one.
  void run_unfenced(const std::byte* from, std::byte* to, std::int64_t band) const;
  static void fence();
  bool streams() const { return streams_; }

 private:
  struct Axis {
    std::int64_t extent, from, to;
    std::int64_t step;  // of a band
  };
  static constexpr std::size_t most = 8;
  void make(const Axis* axes, std::size_t count, std::int64_t run, std::int64_t total_bytes);

  std::int64_t bands_ = 0;
  std::int64_t run_ = 0, run_step_ = 0;           // bytes that stand together in both
  std::int64_t from_offset_ = 0, to_offset_ = 0;  // axes are turned so that the target's strides are positive
  std::uint8_t count_ = 0;
  bool short_source_ = false, short_target_ = false, streams_ = false, transposes_ = false;
  std::array<Axis, most> axes_;  // outermost first; the first count_ are meant
  std::vector<Axis> outer_;      // where there are more: a band is one point of these
};

}  // namespace meshwise::detail

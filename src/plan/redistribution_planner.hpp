#pragma once
// Decides every piece of a movement. redistribution.cpp explains how.

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwise/plan/redistribution.hpp"
#include "plan/redistribution_holders.hpp"
#include "plan/redistribution_turns.hpp"

namespace meshwise::detail {

/// Local. Where a source box and a target box overlap: the one piece they have in common.
struct Overlap {
  Index box{};
  std::int64_t source_box = 0, target_box = 0;  // their numbers (Holders)
  Turn turn{};                                  // of the reader among all that read from the source box
};

/// Local. Refers to the movement it was made from.
class Planner {
 public:
  Planner(const Movement& movement, const Topology& topology);

  /// Local. What `device` receives and sends; see DevicePlan.
  std::vector<Piece> receives(const Device& device) const;
  std::vector<Piece> sends(const Device& device) const;
  /// Local. Elements that must be sent to `device` whatever the plan: wanted by it and all it shares blocks with, and held by none of them.
  std::int64_t unavoidable_elements(const Device& device) const;

 private:
  Nearby process(const Device& device) const;
  Nearby node(const Device& device) const;
  Nearby sharers(const Device& device) const;

  // Below, a holder is a position in the source's list and a reader one in the target's.

  /// All readers of a holder's box: the target parts it reaches on each axis, by the copies of each target box.
  struct Readers {
    std::vector<AxisReach> reaches{};
    std::int64_t count = 0;
  };
  Readers readers_of(std::int64_t holder) const;
  std::int64_t reader(const Readers& all, std::int64_t number) const;
  std::vector<std::int64_t> possible_readers(std::int64_t holder, const Readers& all) const;

  Overlap start(std::int64_t reader) const;
  Overlap extended(Overlap so_far, std::size_t d, const AxisOverlap& axis) const;
  std::vector<Overlap> overlaps_of(std::int64_t reader) const;
  std::optional<Overlap> overlap_of(const Readers& all, std::int64_t reader) const;

  bool is_exact(const Overlap& overlap) const;
  std::optional<std::int64_t> exact_holder(const Overlap& overlap, const Device& reader) const;
  bool receives_for_sharers(std::int64_t target_box, std::int64_t reader) const;
  std::int64_t holder_for(const Overlap& overlap, std::int64_t reader) const;
  void lend(const Device& device, std::vector<Piece>& pieces) const;

  const Movement& movement_;
  Topology topology_;
  Holders source_, target_;
  std::int64_t devices_per_rank_;
  std::int64_t copies_per_process_;  // of a source box
  Turns turns_;
};

}  // namespace meshwise::detail

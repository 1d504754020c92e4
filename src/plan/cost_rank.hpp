#pragma once
// One rank's bytes and messages by the way they take. cost_rank.cpp counts pieces, cost_shares.cpp reckons without them.

#include <cstdint>
#include <vector>

#include "meshwise/plan/cost.hpp"
#include "plan/redistribution_planner.hpp"

namespace meshwise::detail {

/// Local. Refers to the movement it was made from, which takes whole arrays (Movement::reshard).
class RankCounter {
 public:
  /// Local. `in_parts`: old blocks go as new ones come (plan/donation).
  RankCounter(const Movement& movement, const Topology& topology, std::int64_t itemsize, bool in_parts);

  /// Local. All but the time and what is left, from the rank's pieces: O(them).
  RankCost counted(std::int64_t rank) const;
  /// Local. The same where there are few pieces; else without looking at them: O(ndim and ranks of the node). Equal to `counted` but for what a
  /// rank sends of a box that has several holders: there it is the mean over its holders.
  RankCost reckoned(std::int64_t rank) const;

  struct Alike {
    std::int64_t holders = 1, readers = 1;
  };
  /// Local. How many times what this rank has to send, and to receive, its node has; of those that share one block one receives.
  Alike alike_on_node(std::int64_t rank) const;

 private:
  /// Positions of the devices on a rank's node.
  struct Near {
    std::vector<std::int64_t> holders{}, readers{};
  };
  Near near(const Nearby& devices) const;
  LinkUse RankCost::*way(std::int64_t from_rank, std::int64_t to_rank) const;
  LinkUse RankCost::*way_off_node() const;
  Nearby node_of(std::int64_t rank) const { return topology_.node(rank, devices_per_rank_); }
  std::int64_t bytes_met(std::int64_t holder, std::int64_t reader) const;
  void reckon_receives(RankCost& cost, std::int64_t reader, const Near& near_by) const;
  void reckon_sends(RankCost& cost, std::int64_t holder, const Near& near_by) const;
  double copies_that_receive(std::int64_t holder) const;
  void add_memory(RankCost& cost) const;

  const Movement& movement_;
  Topology topology_;
  std::int64_t itemsize_, devices_per_rank_;
  bool in_parts_;
  Planner planner_;
  Holders source_, target_;
};

}  // namespace meshwise::detail

#pragma once
// What a move costs before it moves: bytes and messages by the way they take, memory, and time.

#include <cstdint>
#include <string>
#include <vector>

#include "meshwise/base/dtype.hpp"
#include "meshwise/base/shape.hpp"
#include "meshwise/placement/sharding.hpp"
#include "meshwise/plan/links.hpp"
#include "meshwise/plan/topology.hpp"

namespace meshwise {

/// Local. What a rank moves by one kind of way. A message is all that one rank sends to another in the call; in memory it is one box copied.
struct LinkUse {
  std::int64_t bytes_in = 0, bytes_out = 0;
  std::int64_t messages_in = 0, messages_out = 0;
  friend bool operator==(const LinkUse&, const LinkUse&) = default;
};

/// Local. What one rank has to do with a move. Of its new shards every byte is kept, or comes in by memory, node or network.
struct RankCost {
  std::int64_t rank = 0;
  std::int64_t bytes_before = 0, bytes_after = 0;  // of its shards; a box that several of its devices hold counts for each
  std::int64_t bytes_kept = 0;                     // an old block, or another device's new one, serves as it is: nothing moves
  LinkUse memory;                                  // in: copies it makes; out: copies that other ranks of the node make of its blocks
  LinkUse node;                                    // MPI on a node that doesn't share memory
  LinkUse network;                                 // MPI between nodes
  std::int64_t bytes_lower_bound = 0;  // that any plan must send it: wanted and not held by its process (node, where memory is shared)
  std::int64_t peak_bytes = 0;         // old blocks, new blocks and staging
  std::int64_t bytes_left = 0;         // when all is done: without donate the old blocks as well
  double seconds = 0;                  // an estimate
  friend bool operator==(const RankCost&, const RankCost&) = default;
};

struct PlanOptions {
  Topology topology{};
  Links links{};
  bool donate = false;  // the old blocks are let go, of large arrays part by part (donation.hpp): less is left, and the peak is lower
};

/// Local. A move's cost, rank by rank. Of more than 16 ranks these are some, spread evenly over both device lists, the first and the last among them.
///
/// The time of a rank is the longer of its network and its memory and node traffic, which go on at once; of each the longer of its own bytes at
/// `rank_bandwidth` and its node's at `bandwidth`, both ways at once, and its messages' latencies. Where only some ranks are looked at, the others
/// of a node are taken to do as the one, and the holders of a box with many copies to send equal shares of it.
struct PlanReport {
  std::string from, to;                           // types: `float32[8@x,16]`
  std::int64_t from_devices = 0, to_devices = 0;  // from none: an uncommitted array
  PlanOptions options{};
  bool complete = true;  // every rank that has part in it is listed
  std::vector<RankCost> ranks{};
  double seconds = 0;  // the slowest of them
};

/// Local. What moving an array of `shape` and `dtype` costs; O(ranks listed), and microseconds for each, on a mesh of any size.
/// Throws: PlacementError when a spec has more entries than the shape.
PlanReport plan_report(const Shape& shape, Dtype dtype, const Sharding& from, const Sharding& to, const PlanOptions& options = {});

/// Local. The report as a table: a row a rank, or the least, the mean and the most; ways that carry nothing have no columns.
std::string to_string(const PlanReport& report);

/// Local. to_string(plan_report(...)).
std::string explain(const Shape& shape, Dtype dtype, const Sharding& from, const Sharding& to, const Topology& topology = {},
                    const Links& links = {});

}  // namespace meshwise

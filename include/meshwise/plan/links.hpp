#pragma once
// How fast bytes travel, by the kind of way they take. calibrate() measures it (tools/calibrate.hpp); until then it is assumed.

namespace meshwise {

/// Local. One kind of way. A node's ranks share `bandwidth` when they are all busy, and one rank alone gets `rank_bandwidth`.
struct LinkFigures {
  double bandwidth = 0;       // bytes a second of a whole node: copied, or each way at once
  double rank_bandwidth = 0;  // bytes a second of one rank
  double latency = 0;         // seconds for a message or a copy besides its bytes
  bool measured = false;
  friend bool operator==(const LinkFigures&, const LinkFigures&) = default;
};

/// Local. The figures a plan's time is estimated from. The defaults are those of a modest server: memory that copies 16 GB/s, a network of 100 Gbit/s.
struct Links {
  LinkFigures memory{16e9, 8e9, 0.2e-6};  // copies in a process, and on a node that shares memory: read once, written once
  LinkFigures node{8e9, 4e9, 1e-6};       // MPI between the processes of a node
  LinkFigures network{11e9, 11e9, 2e-6};  // MPI between nodes
  friend bool operator==(const Links&, const Links&) = default;
};

}  // namespace meshwise

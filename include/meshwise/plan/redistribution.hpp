#pragma once
// From one sharding to another: which boxes each device keeps, sends and receives.
//
// Both ends derive the same list from metadata alone, by interval arithmetic on each axis, in time proportional to the
// pieces the device touches. There is no global table, no communication and no scan over devices. Read this file first.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwise/base/shape.hpp"
#include "meshwise/placement/sharding.hpp"
#include "meshwise/plan/topology.hpp"

namespace meshwise {

/// Local. How one axis of an array is seen by a movement: coordinate c of the movement is element start + step * c of the
/// array's axis `axis`. A transposition permutes `axis`; a slice x[2:8:2] is {start 2, step 2}; a reversal has step -1.
struct AxisView {
  std::int64_t axis = 0;
  std::int64_t start = 0;
  std::int64_t step = 1;
  friend bool operator==(const AxisView&, const AxisView&) = default;
};

/// Local. One step of a movement, or of a computation, that is made in several: part `number` of `of` of what each device has of array axis `axis`; or `across`, what
/// each has of that part of the whole axis.
struct Panel {
  std::int64_t axis = 0, number = 0, of = 1;
  bool across = false;
};

/// Local. One end of a movement: an array's placement, and how the movement's axes lie in it.
///
/// `unit[a]` (1 if empty) makes axis a of length n a run of n/unit[a] equal units that are never cut: its part t of K is
/// part(t, K, n/unit) scaled by unit. So an (8,6) array split by rows is, flattened, a (48) axis with unit 6.
/// Array axes that no view names must be 1 long or are taken at `fixed` (an integer index).
struct End {
  Sharding sharding;
  Shape shape{};
  std::vector<AxisView> views{};      // one per movement axis; empty: axis d is the array's axis d
  std::vector<std::int64_t> unit{};   // one per array axis; empty: all 1
  std::vector<std::int64_t> fixed{};  // one per array axis, used where no view names the axis; empty: all 0
  std::optional<Panel> panel{};       // a target's: each device wants that panel of its box alone. A source's: nothing else is there, and both ends cut the axis alike

  /// Local. The box of the array that the device at that position of the mesh's list holds (units and panel applied).
  Index box_at(std::int64_t position) const;
};

/// Local. A movement of `extent` elements per axis from a region of one array to a region of another.
struct Movement {
  End source;
  End target;
  Shape extent{};

  /// Local. The whole of an array of `shape` from one sharding to another.
  static Movement reshard(const Sharding& from, const Sharding& to, const Shape& shape);
};

/// Local. What becomes of a piece. alias: this device already holds exactly the wanted box, share the block. hand_over:
/// another device of this process (or of the node, where memory is shared) holds exactly that box, share its block. copy: a
/// strided copy inside the process. send: a message between processes.
enum class Action : std::uint8_t { alias, hand_over, copy, send };

/// Local. A box, in the movement's coordinates, that goes from one device to another. A source and a target have at most one in common.
struct Piece {
  Device source;
  Device target;
  Index box;
  Action action = Action::copy;
  bool from_new = false;  // hand_over only: the block is not one that `source` had but the one it receives in this movement
};

/// Local. The order of the pieces of one (source rank, target rank) pair, the same at both ends also where several lists are
/// put together: by target device, source device, box.
bool piece_order(const Piece& a, const Piece& b);

/// Local. One device's part of a redistribution. Within one (source rank, target rank) pair, the sender's and the receiver's
/// lists hold the same pieces in the same order.
struct DevicePlan {
  Device device;
  std::vector<Piece> receives;  // everything the device's new box is made of, kept pieces (alias, copy) included
  std::vector<Piece> sends;     // to other processes only; on a node that shares memory also the blocks handed over
};

/// Local. What `device` does. O(pieces it touches). Each byte is sent once per receiving process (per node where memory is shared): a
/// device whose own old shard holds a piece keeps it; else another device of its process gives it; else a holder on its node; else the
/// holders of a replicated source take turns. Devices of one process (node) that want the same box get one block: where one of their
/// process (node) holds exactly that box, its old block; else the first in the target's list receives, the rest get its new block.
/// A list begins with what stays in the process, then the peers follow: rank + 1, rank + 2, ... and from 0.
/// Throws: ShapeError when a view, unit or fixed index doesn't fit its array; PlacementError when a spec doesn't.
DevicePlan plan_device(const Movement& movement, const Topology& topology, const Device& device);

/// Local. Bytes and messages of a whole plan or of one device.
struct PlanCost {
  std::int64_t bytes_kept = 0;    // alias, hand-over
  std::int64_t bytes_copied = 0;  // within processes
  std::int64_t bytes_sent = 0;    // between processes
  std::int64_t messages = 0;      // non-empty (source rank, target rank) pairs
  // Bytes that no plan can avoid sending: wanted by a process (by a node, where memory is shared) and not held by it.
  std::int64_t bytes_lower_bound = 0;
};

/// Local. One device's cost: as receiver for bytes kept and copied, as sender for bytes sent and messages. The lower bound is 0: it is
/// a process's, not a device's.
PlanCost cost_of(const DevicePlan& plan, std::size_t itemsize);
/// Local. The cost over all devices; O(devices and pieces).
PlanCost total_cost(const Movement& movement, const Topology& topology, std::size_t itemsize);

/// Local. Elements of an array of `shape` that devices of `to` want and do not hold under `from` themselves, all devices together.
std::int64_t elements_brought(const Shape& shape, const Sharding& from, const Sharding& to);

/// Local. The whole plan as text, one line a piece: `device 0 <- 3 [0:2, 8:16] send`.
std::string to_string(const Movement& movement, const Topology& topology);
std::string to_string(const DevicePlan& plan);

}  // namespace meshwise

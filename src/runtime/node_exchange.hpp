#pragma once
// Exchanges between ranks of a node: read from where they lie, written to where they belong, once. docs/design/009-engine.md explains it.
//
// The sender publishes a letter that says where its boxes are, with a reference to each block, and is done. The receiver reads it when it serves its
// transfers, copies, drops the references. Large exchanges are cut in bands that both ends claim, one by one, from a counter they share: whoever has
// time copies. No side waits for the other to do anything but enter its call.

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "meshwise/runtime/transport.hpp"
#include "runtime/arena_store.hpp"
#include "runtime/letter_box.hpp"
#include "runtime/node_task.hpp"

namespace meshwise::detail {

struct Runtime;

/// Local. All exchanges on the node that are under way. Used under Runtime::lock.
struct NodeExchange {
  ArenaStore* store = nullptr;        // null: this rank shares no memory
  std::vector<int> place_of;          // by world rank; -1 for ranks elsewhere
  std::vector<LetterBox> out, in;     // by place
  std::vector<std::uint64_t> sent;    // bytes of payload, by place
  std::vector<std::uint64_t> known_finished;  // of them, at least: the reader's counter is looked at only where that is too few
  std::vector<std::deque<NodeTask*>> expected;
  std::vector<NodeTask*> tasks;       // matched, in program order; and sending ones that the sender may help with
  std::size_t expecting = 0;          // places with expected tasks
  std::size_t turn = 0;
  std::uint64_t epoch = 0;            // tests begin anew after a failure: older letters are void
  int idle = 0;
};

/// Local. Sets up the exchange over the node's arena; `ranks` are the world ranks of its places.
void begin_node_exchange(Runtime& r, ArenaStore& store, const std::vector<int>& ranks);
/// Local. Whether that rank's exchanges go through shared memory.
bool shares_memory_with(int rank);

/// Local. Under the lock: posts the node's part of a movement. The caller has seen to room in the letter boxes.
void start_on_node(Movement& movement, std::vector<Exchange>&& sends, std::vector<Exchange>&& receives, std::vector<LocalCopy>&& copies);
/// Local. Under the lock: whether a letter about so many boxes, and so many bytes of payload, may go to that rank now.
bool has_room_on_node(int rank, std::size_t boxes, std::int64_t bytes);
/// Local. Under the lock: reads letters and copies for a while. True if anything happened.
bool serve_node(Runtime& r, bool main_thread);
/// Local. Under the lock: a rank whose letter nobody here asked for; -1 if there is none.
int unasked_letter(Runtime& r);
/// Local. Under the lock: forgets everything under way.
void drop_node_tasks(NodeExchange& node);

}  // namespace meshwise::detail

#pragma once
// Exchanges between ranks of a node: read from where they lie, written to where they belong, once. docs/design/009-engine.md explains it.
//
// The sender publishes a letter that says where its boxes are, with a reference to each block, and is done. The receiver reads it when it serves its
// transfers, copies, drops the references. Large exchanges are cut in bands that both ends claim, one by one, from a counter they share: whoever has
// time copies. No side waits for the other to do anything but enter its call.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "meshwise/runtime/transport.hpp"
#include "runtime/arena_store.hpp"
#include "runtime/copier.hpp"
#include "runtime/letter_box.hpp"

namespace meshwise::detail {

class Movement;
struct Runtime;

/// Local. Lies in the sender's arena, beside the places of the receiver's boxes, which the receiver fills in.
struct SharedTask {
  std::atomic<std::int64_t> claimed;   // bands that somebody copies or has copied
  std::atomic<std::int64_t> finished;  // bands that are copied
  std::atomic<std::int32_t> answered;  // the receiver's boxes are filled in: the sender can help
  std::atomic<std::int32_t> complete;
  std::int64_t total_bytes;            // what the receiver's copiers were made for
  std::int64_t reserved[4];

  std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(this + 1); }
};
static_assert(sizeof(SharedTask) == 64);

/// Local. One side of what a pair of ranks of a node exchanges in one call, or what a rank copies to itself.
struct NodeTask {
  enum class Role : std::uint8_t { receives, sends, own };
  enum class State : std::uint8_t { expected, blocked, open };
  struct Strip {
    Copier copier;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t first = 0;  // number of its first band in the task
  };

  Movement* owner = nullptr;
  Role role = Role::receives;
  State state = State::expected;
  int peer = 0, place = 0;  // rank in the world and on the node
  std::int64_t bytes = 0;
  std::vector<StridedBox> boxes{};
  std::vector<Strip> strips{};
  std::int64_t bands = 0, claimed = 0, finished = 0;
  bool short_source = false;                // the sender should drive
  bool counted = false;                     // among its movement's unanswered
  std::size_t adopts_from = 0;              // its first among the movement's adopted blocks
  SharedTask* shared = nullptr;             // where both ends may copy
  std::shared_ptr<Block> shared_block{};
  std::vector<BlockLocation> lent{};        // references that came with the letter
  std::vector<BlockLocation> awaited{};     // that it is to copy from, and that are still being written
  std::vector<BlockLocation> adopted{};     // lent before they were written
  bool written = false;
};

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

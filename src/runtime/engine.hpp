#pragma once
// The state of all movements under way, and the requests that MPI works on. Everything here is used under Runtime::lock.

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "meshwise/runtime/transport.hpp"
#include "runtime/chunk.hpp"
#include "runtime/ledger.hpp"
#include "runtime/node_exchange.hpp"
#include "runtime/strided.hpp"

namespace meshwise::detail {

/// Tags are few and constant: the tag space is small on some transports. Data and control travel on communicators of their own.
enum Tag : int { head_tag = 1, chunk_tag = 2, control_tag = 3, group_tag = 4, highest_tag = 4 };

/// Local. The first bytes of the first message of each (pair of ranks, call), checked before any payload is used.
struct Header {
  std::uint64_t magic = 0;
  std::uint64_t list = 0, sequence = 0, hash = 0;  // the ticket's
  std::int64_t bytes = 0;                          // of the whole payload
  std::uint32_t phase = 0;                         // a call may exchange more than once
  std::uint32_t text_bytes = 0;                    // the call in words follows
  std::uint32_t inline_bytes = 0;                  // then the payload, where it is small
  std::uint32_t reserved = 0;
};
inline constexpr std::uint64_t header_magic = 0x6D657368'77697365;
inline constexpr std::size_t text_limit = 240;
inline constexpr std::size_t head_limit = 3968;  // below the eager limit of every transport, so that a head never waits for its receiver
inline constexpr std::int64_t inline_limit = static_cast<std::int64_t>(head_limit - sizeof(Header) - text_limit);

class Movement;

/// Local. One side of what one pair of ranks exchanges in one call.
struct Task {
  Movement* owner = nullptr;
  int peer = 0;
  bool outgoing = false;
  bool head_done = false;
  std::int64_t posted = 0, finished = 0;  // payload bytes handed to MPI, and through
  std::int64_t acknowledges = 0;          // bytes of heads that the peer has received when this task's head has left
  Payload payload;
  std::vector<std::byte> head;  // outgoing: the message
};

class Movement final : public Transfer {
 public:
  bool done() const override { return done_.load(std::memory_order_acquire); }
  void wait() override;
  const std::vector<Adopted>& adopted() const override { return adopted_; }

  /// Local. Under the lock: it will never end, `why`; waiting for it is an error.
  void give_up(const std::string& why);
  /// Local. Lets go of what it held.
  void let_go();

  Ticket ticket;
  Words words;
  std::uint32_t phase = 0;
  std::int64_t number = 0;  // in the order of their posts
  std::string given_up;     // why
  std::vector<std::shared_ptr<Block>> keep;
  std::vector<Task> tasks;           // with ranks elsewhere
  std::vector<NodeTask> node_tasks;  // with ranks of this node, and copies
  std::vector<Adopted> adopted_;
  std::vector<BlockLocation> lent_new;  // blocks of this movement that other ranks have already been lent
  std::int64_t copied_bytes = 0;        // that this rank's copies on the node write
  std::int64_t unanswered = 0;          // receivers of short runs that this rank has not heard of
  bool near = false;                    // some of it on the node
  bool in_background = false;           // large enough there to keep the progress thread awake
  std::size_t unfinished = 0;  // parts of any kind, and one for the post itself
  std::size_t unwritten = 0;   // of these, those that write to this rank's new blocks
  std::list<std::shared_ptr<Movement>>::iterator self;
  std::atomic<bool> done_{false};
};

/// Local. One direction of one pair: tasks in program order, first waiting for their head, then for their chunks.
struct Lane {
  std::deque<Task*> heads;  // incoming only: an outgoing head leaves at once
  std::deque<Task*> data;
  std::int64_t chunks = 0;  // in flight
  std::int64_t bytes = 0;   // of unfinished tasks
  bool head_posted = false;
  std::unique_ptr<std::byte[]> head;
  // Outgoing: a small message has left at once, wherever it waits. Bytes of these not known to be received, and those since the last that asks.
  std::int64_t unacknowledged = 0, unasked = 0;
};

/// Local. What a request of MPI is for.
struct Pending {
  enum class Kind : std::uint8_t { control_receive, control_send, head_send, head_receive, chunk_send, chunk_receive } kind;
  Task* task = nullptr;
  int peer = 0;
  std::shared_ptr<Chunk> chunk{};
  std::vector<std::byte> message{};
};

struct Engine {
  std::vector<MPI_Request> requests;  // [0] is the receive of control messages
  std::vector<Pending> pending;       // beside it
  std::vector<int> indices;
  std::vector<MPI_Status> statuses;
  std::vector<std::byte> control_buffer;
  std::deque<Lane> out, in;  // per peer
  std::list<std::shared_ptr<Movement>> live;
  NodeExchange node;
  unsigned busy = 0;
  std::atomic<std::int64_t> live_count{0};
  std::atomic<std::int64_t> chunked{0};  // tasks that need progress to advance: they keep the progress thread awake
  std::int64_t staged[2] = {0, 0};       // bytes of staging in use for [receiving, sending]
  std::int64_t staged_so_far = 0;        // both ways, since start
  std::size_t turn[2] = {0, 0};          // the lane that last had staging which came back
  std::vector<Staging> spare;
  std::atomic<std::int64_t> messages_sent{0}, bytes_sent{0};
  std::int64_t posted = 0;                         // movements so far
  std::int64_t heads_sent = 0, heads_received = 0; // of messages, and letters
  // What sends that nobody will receive still read from: kept for good.
  std::vector<Pending> abandoned;
  std::list<std::shared_ptr<Movement>> abandoned_movements;

  void add(MPI_Request request, Pending what) {
    requests.push_back(request);
    pending.push_back(std::move(what));
  }
};

struct Runtime;

/// Collective over the world. A duplicate of a communicator that returns errors instead of ending the job.
MPI_Comm duplicate(MPI_Comm from);
/// Collective over the world. New communicators for data and control, and nothing under way.
void begin_engine(Runtime& r);
/// Local. Under the lock: gives up everything under way.
void drop_requests(Engine& engine);

/// Local. Movements that were given up, and sends that nobody will receive. It lets go of their memory at its end, when no rank reads or writes it any more.
class Voided {
 public:
  Voided() = default;
  Voided(Voided&&) = default;
  Voided& operator=(Voided&&) = delete;
  ~Voided();

  std::list<std::shared_ptr<Movement>> movements;
  std::vector<Pending> sends;
};
/// Collective over the world. Under the lock: gives up everything under way and begins anew, on new communicators.
Voided void_engine(Runtime& r, const std::string& why);

/// Local. Under the lock: tests all requests once and acts on what is complete. True if anything was. Failures become sticky, never thrown.
bool progress_locked();
/// Local. Under the lock: the same for exchanges on the node alone.
bool progress_on_node_locked();
/// Local. Takes the lock and serves both.
bool progress();

/// Local. What post does, for a call's exchange number `phase`.
std::shared_ptr<Transfer> post_phase(const Ticket& ticket, std::uint32_t phase, std::vector<Exchange> sends, std::vector<Exchange> receives,
                                     std::vector<std::shared_ptr<Block>> keep, std::vector<LocalCopy> copies = {});

/// Local. Under the lock: one part of a movement is done; with the last one the movement is.
void finish_part(Movement& movement);
/// Local. Under the lock: one part has written all that it writes here; with the last one the blocks that were lent before are whole.
void part_is_written(Movement& movement);
/// Local. Whether a message or letter belongs to this exchange number of this call.
bool same_call(const Ticket& ticket, std::uint32_t phase, std::int64_t bytes, const Ticket& other, std::uint32_t other_phase, std::int64_t other_bytes);

/// Local. The tasks of exchanges with ranks that share no memory with this one.
std::vector<Task> make_message_tasks(std::vector<Exchange>&& sends, std::vector<Exchange>&& receives);
/// Local. Waits until each task's pair may have so many more bytes under way.
void wait_for_message_room(const Ticket& ticket, const std::vector<Task>& tasks);
/// Local. Under the lock: queues and starts the movement's messages. True if some need a thread that serves them.
bool start_messages(const std::shared_ptr<Movement>& movement);

/// Local. Completion of a request that belongs to a task (transport.cpp).
void on_head_sent(Task& task);
void on_head_received(int peer, std::int64_t bytes);
void on_chunk_sent(Task& task, Chunk& chunk);
void on_chunk_received(Task& task, Chunk& chunk);

}  // namespace meshwise::detail

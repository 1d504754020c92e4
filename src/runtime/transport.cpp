// The wire protocol. A task's head goes first and says what call it belongs to; chunks follow, in order, on a tag of their own, a window
// at a time.
// Both ends post tasks in program order, so constant tags and MPI's order of messages are enough to match them.
#include "meshwise/runtime/transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "meshwise/base/error.hpp"
#include "meshwise/plan/staging.hpp"
#include "meshwise/runtime/watch.hpp"
#include "runtime/engine.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

// Of what a peer may not have looked at yet: it lies in that peer's memory, outside of every account.
std::int64_t eager_limit() { return std::min(runtime().settings.run_ahead, std::int64_t{16} << 20); }

bool travels_inline(std::int64_t bytes) { return bytes <= std::min(inline_limit, runtime().settings.chunk_bytes); }

Lane& lane_of(const Task& task) {
  auto& lanes = task.outgoing ? runtime().engine.out : runtime().engine.in;
  return lanes[static_cast<std::size_t>(task.peer)];
}

// A pair may always have one buffer, else ranks could starve in a circle.
bool take_staging(Engine& engine, bool sending, bool first_of_pair, std::int64_t size, Staging& staging) {
  auto& used = engine.staged[sending ? 1 : 0];
  if (!first_of_pair && used + size > most_staging) return false;
  used += size;
  engine.staged_so_far += size;
  const auto fits =
      std::find_if(engine.spare.begin(), engine.spare.end(), [&](const Staging& s) { return s.size >= size && s.size <= 2 * size + 4096; });
  if (fits != engine.spare.end()) {
    staging = std::move(*fits);
    engine.spare.erase(fits);
  } else {
    staging.bytes = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(size));
    staging.size = size;
  }
  return true;
}

void give_back(Engine& engine, bool sending, std::int64_t size, Staging&& staging) {
  engine.staged[sending ? 1 : 0] -= size;
  if (engine.spare.size() < 16) engine.spare.push_back(std::move(staging));
}

void finish_task(Task& task) {
  Engine& engine = runtime().engine;
  lane_of(task).bytes -= task.payload.bytes();
  if (!travels_inline(task.payload.bytes())) --engine.chunked;
  if (!task.outgoing) part_is_written(*task.owner);
  finish_part(*task.owner);
}

// Over TCP Open MPI asks before it sends more than 64 KiB, and the answer waits behind all that goes the other way on the pair's one connection: two
// streams then run one after the other. Smaller messages leave unasked.
constexpr std::int64_t unasked_bytes = std::int64_t{60} << 10;

// Of a chunk's messages, about equally long.
std::int64_t message_bytes(int peer, std::int64_t chunk) {
  const Topology& nodes = runtime().topology;
  if (chunk <= unasked_bytes || nodes.node_of(peer) == nodes.node_of(runtime().rank)) return chunk;
  const std::int64_t messages = (chunk + unasked_bytes - 1) / unasked_bytes, each = (chunk + messages - 1) / messages;
  return (each + 63) / 64 * 64;
}

// Of a chunk in several messages the last is sent when it has been received, and with it all before it; so is one now and then of those in one message
// (see send_head): what is unasked at the peer is bounded.
void post(const std::shared_ptr<Chunk>& chunk, std::byte* at, Task& task) {
  Runtime& r = runtime();
  Lane& lane = lane_of(task);
  const std::int64_t most = message_bytes(task.peer, chunk->length);
  for (std::int64_t done = 0; done < chunk->length; done += most) {
    const std::int64_t length = std::min(most, chunk->length - done);
    const auto count = static_cast<int>(length);
    MPI_Request request = MPI_REQUEST_NULL;
    if (!task.outgoing) {
      check_mpi(MPI_Irecv(at + done, count, MPI_BYTE, task.peer, chunk_tag, r.data, &request), "receiving a chunk");
    } else {
      if (length <= unasked_bytes) {
        lane.unasked += length;
        lane.unacknowledged += length;
      }
      const bool asks = done + length == chunk->length && (done > 0 || lane.unasked >= eager_limit() / 8);
      if (asks) chunk->acknowledges = std::exchange(lane.unasked, 0);
      check_mpi((asks ? MPI_Issend : MPI_Isend)(at + done, count, MPI_BYTE, task.peer, chunk_tag, r.data, &request), "sending a chunk");
      ++r.engine.messages_sent;
      r.engine.bytes_sent += length;
    }
    ++chunk->messages;
    r.engine.add(request, Pending{task.outgoing ? Pending::Kind::chunk_send : Pending::Kind::chunk_receive, &task, task.peer, chunk});
  }
}

// Hands MPI the next chunk of this lane, unless the window or the staging forbids it.
bool post_chunk(Lane& lane, bool sending) {
  Runtime& r = runtime();
  if (lane.data.empty() || lane.chunks >= r.settings.window) return false;
  Task& task = *lane.data.front();
  const std::int64_t offset = task.posted;
  const std::int64_t length = std::min(r.settings.chunk_bytes, task.payload.bytes() - offset);
  const auto chunk = std::make_shared<Chunk>(Chunk{.offset = offset, .length = length});
  std::byte* at = task.payload.in_place(offset, length);
  if (!at) {
    if (!take_staging(r.engine, sending, lane.chunks == 0, length, chunk->staging)) return false;
    at = chunk->staging.bytes.get();
    if (sending) task.payload.pack(offset, length, at);
  }
  post(chunk, at, task);
  ++lane.chunks;
  task.posted += length;
  if (task.posted == task.payload.bytes()) lane.data.pop_front();
  return true;
}

// A chunk of each lane in turn, again and again: no peer has all the staging while another waits.
void post_in_turn(bool sending) {
  Engine& engine = runtime().engine;
  auto& lanes = sending ? engine.out : engine.in;
  std::size_t& turn = engine.turn[sending ? 1 : 0];
  for (bool any = true; any;) {
    any = false;
    for (std::size_t seen = 0; seen < lanes.size(); ++seen) {
      turn = (turn + 1) % lanes.size();
      any = post_chunk(lanes[turn], sending) || any;
    }
  }
}

// After a chunk of this lane has gone through: room in its window, and in the staging of all if it took some.
void go_on(Lane& lane, bool sending, bool staged) {
  if (staged) return post_in_turn(sending);
  while (post_chunk(lane, sending)) {
  }
}

void send_head(Task& task) {
  Runtime& r = runtime();
  const Movement& owner = *task.owner;
  const std::string words = owner.words.text();
  const std::string_view text = std::string_view(words).substr(0, text_limit);
  const bool small = travels_inline(task.payload.bytes());
  Header header;
  header.magic = header_magic;
  header.list = owner.ticket.list;
  header.sequence = owner.ticket.sequence;
  header.hash = owner.ticket.hash;
  header.phase = owner.phase;
  header.bytes = task.payload.bytes();
  header.text_bytes = static_cast<std::uint32_t>(text.size());
  header.inline_bytes = small ? static_cast<std::uint32_t>(task.payload.bytes()) : 0;
  task.head.resize(sizeof header + text.size() + header.inline_bytes);
  std::memcpy(task.head.data(), &header, sizeof header);
  std::memcpy(task.head.data() + sizeof header, text.data(), text.size());
  if (small) task.payload.pack(0, task.payload.bytes(), task.head.data() + sizeof header + text.size());
  // Now and then one is sent that is done only when it has been received, and with it, in order, all before it: so that a rank which runs ahead
  // with small messages alone does not fill its peer's memory.
  Lane& lane = lane_of(task);
  lane.unasked += static_cast<std::int64_t>(task.head.size());
  lane.unacknowledged += static_cast<std::int64_t>(task.head.size());
  const bool asks = lane.unasked >= eager_limit() / 8;
  if (asks) task.acknowledges = std::exchange(lane.unasked, 0);
  MPI_Request request = MPI_REQUEST_NULL;
  const int count = static_cast<int>(task.head.size());
  check_mpi(asks ? MPI_Issend(task.head.data(), count, MPI_BYTE, task.peer, head_tag, r.data, &request)
                 : MPI_Isend(task.head.data(), count, MPI_BYTE, task.peer, head_tag, r.data, &request),
            "sending");
  ++r.engine.messages_sent;
  ++r.engine.heads_sent;
  r.engine.bytes_sent += header.inline_bytes;
  if (!small) lane.data.push_back(&task);
  int sent = 0;
  check_mpi(MPI_Test(&request, &sent, MPI_STATUS_IGNORE), "sending");
  if (sent) return on_head_sent(task);
  r.engine.add(request, Pending{Pending::Kind::head_send, &task, task.peer});
}

void expect_head(Lane& lane, int peer) {
  if (lane.head_posted || lane.heads.empty()) return;
  Runtime& r = runtime();
  if (!lane.head) lane.head = std::make_unique_for_overwrite<std::byte[]>(head_limit);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Irecv(lane.head.get(), static_cast<int>(head_limit), MPI_BYTE, peer, head_tag, r.data, &request), "receiving");
  r.engine.add(request, Pending{Pending::Kind::head_receive, nullptr, peer});
  lane.head_posted = true;
}

bool same_call(const Header& header, const Task& task) {
  const Ticket theirs{header.list, header.sequence, header.hash};
  return header.magic == header_magic &&
         same_call(task.owner->ticket, task.owner->phase, task.payload.bytes(), theirs, header.phase, header.bytes);
}

}  // namespace

std::vector<Task> make_message_tasks(std::vector<Exchange>&& sends, std::vector<Exchange>&& receives) {
  std::vector<Task> tasks;
  tasks.reserve(sends.size() + receives.size());
  for (const bool outgoing : {false, true}) {
    for (auto& exchange : outgoing ? sends : receives) {
      Task task;
      task.peer = static_cast<int>(exchange.rank);
      task.outgoing = outgoing;
      task.payload = Payload(std::move(exchange.boxes));
      if (task.payload.bytes() > 0) tasks.push_back(std::move(task));  // both ends know that there is nothing to say
    }
  }
  return tasks;
}

bool start_messages(const std::shared_ptr<Movement>& movement) {
  Engine& engine = runtime().engine;
  bool chunks = false;
  for (auto& task : movement->tasks) {
    task.owner = movement.get();
    lane_of(task).bytes += task.payload.bytes();
    if (!travels_inline(task.payload.bytes())) {
      ++engine.chunked;
      chunks = true;
    }
  }
  // The last task may finish the movement, and with it the list that this loop walks.
  const std::size_t count = movement->tasks.size();
  for (std::size_t k = 0; k < count; ++k) {
    Task& task = movement->tasks[k];
    if (task.outgoing) {
      send_head(task);
    } else {
      Lane& lane = lane_of(task);
      lane.heads.push_back(&task);
      expect_head(lane, task.peer);
    }
  }
  if (chunks) post_in_turn(true);
  return chunks;
}

// A pair's unfinished bytes are bounded: a fast rank waits here for movements that are older than the one it brings.
void wait_for_message_room(const Ticket& ticket, const std::vector<Task>& tasks) {
  Runtime& r = runtime();
  for (const auto& task : tasks) {
    const auto room = [&] {
      const std::scoped_lock hold(r.lock);
      const Lane& lane = lane_of(task);
      const bool asked = lane.unacknowledged > lane.unasked;
      return (lane.bytes == 0 || lane.bytes + task.payload.bytes() <= r.settings.run_ahead) &&
             (!asked || lane.unacknowledged <= eager_limit());
    };
    wait_for(room, {.what = "room for another transfer", .ticket = &ticket, .peers = [&] { return std::vector<int>{task.peer}; }});
  }
}

void on_head_sent(Task& task) {
  task.head_done = true;
  task.head = {};
  lane_of(task).unacknowledged -= task.acknowledges;
  if (travels_inline(task.payload.bytes())) task.finished = task.payload.bytes();
  if (task.finished == task.payload.bytes()) finish_task(task);
}

void on_head_received(int peer, std::int64_t bytes) {
  Runtime& r = runtime();
  Lane& lane = r.engine.in[static_cast<std::size_t>(peer)];
  Task& task = *lane.heads.front();
  lane.head_posted = false;
  ++r.engine.heads_received;
  Header header;
  std::string_view text;
  const bool whole = bytes >= static_cast<std::int64_t>(sizeof header);
  if (whole) {
    std::memcpy(&header, lane.head.get(), sizeof header);
    text = {reinterpret_cast<const char*>(lane.head.get()) + sizeof header,
            std::min(static_cast<std::size_t>(header.text_bytes), static_cast<std::size_t>(bytes) - sizeof header)};
  }
  if (!whole || !same_call(header, task)) {
    return spread_failure(FailureKind::mismatch, mismatch_words(r.rank, task.owner->words.text(), peer, text));
  }
  lane.heads.pop_front();
  task.head_done = true;
  if (header.inline_bytes > 0) {
    task.payload.unpack(0, header.bytes, lane.head.get() + sizeof header + header.text_bytes);
    task.finished = header.bytes;
    finish_task(task);
  } else {
    lane.data.push_back(&task);
    post_in_turn(false);
  }
  expect_head(lane, peer);  // last: a message that is here already lands in the buffer at once
}

void on_chunk_sent(Task& task, Chunk& chunk) {
  if (--chunk.messages > 0) return;
  Engine& engine = runtime().engine;
  Lane& lane = lane_of(task);
  --lane.chunks;
  lane.unacknowledged -= chunk.acknowledges;
  task.finished += chunk.length;
  const bool staged = chunk.staging.bytes != nullptr;
  if (staged) give_back(engine, true, chunk.length, std::move(chunk.staging));
  if (task.head_done && task.finished == task.payload.bytes()) finish_task(task);
  go_on(lane, true, staged);
}

void on_chunk_received(Task& task, Chunk& chunk) {
  if (--chunk.messages > 0) return;
  Engine& engine = runtime().engine;
  Lane& lane = lane_of(task);
  --lane.chunks;
  task.finished += chunk.length;
  const bool staged = chunk.staging.bytes != nullptr;
  if (staged) {
    task.payload.unpack(chunk.offset, chunk.length, chunk.staging.bytes.get());
    give_back(engine, false, chunk.length, std::move(chunk.staging));
  }
  if (task.finished == task.payload.bytes()) finish_task(task);
  go_on(lane, false, staged);
}

}  // namespace meshwise::detail

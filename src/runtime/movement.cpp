// A call's exchange from its post to its end: what goes by messages (transport.cpp) and what goes over the node (node_exchange.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/watch.hpp"
#include "runtime/engine.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

/// From here on a copy on the node is worth waking a thread for.
std::int64_t large_on_node() { return runtime().settings.large_from > 0 ? runtime().settings.large_from : std::int64_t{4} << 20; }

// A room in the letter box, and a bound on what the peer has not copied yet.
void wait_for_room_on_node(const Ticket& ticket, const Exchange& exchange) {
  Runtime& r = runtime();
  std::int64_t bytes = 0;
  for (const auto& box : exchange.boxes) bytes += box.bytes();
  const int rank = static_cast<int>(exchange.rank);
  const auto room = [&] {
    const std::scoped_lock hold(r.lock);
    return has_room_on_node(rank, exchange.boxes.size(), bytes);
  };
  wait_for(room, {.what = "room for another transfer", .ticket = &ticket, .peers = [&] { return std::vector<int>{rank}; }});
}

/// Takes the exchanges with ranks that share memory with this one out of the list.
std::vector<Exchange> on_node(std::vector<Exchange>& all) {
  const auto is_far = [](const Exchange& e) { return !shares_memory_with(static_cast<int>(e.rank)); };
  std::vector<Exchange> near;
  if (std::none_of(all.begin(), all.end(), is_far)) {
    near.swap(all);
  } else {
    const auto first = std::stable_partition(all.begin(), all.end(), is_far);
    near.assign(std::make_move_iterator(first), std::make_move_iterator(all.end()));
    all.erase(first, all.end());
  }
  std::erase_if(near, [](Exchange& e) {
    std::erase_if(e.boxes, [](const StridedBox& box) { return box.bytes() == 0; });
    return e.boxes.empty();  // both ends know that there is nothing to say
  });
  return near;
}

}  // namespace

bool same_call(const Ticket& ticket, std::uint32_t phase, std::int64_t bytes, const Ticket& other, std::uint32_t other_phase, std::int64_t other_bytes) {
  if (bytes != other_bytes || phase != other_phase) return false;
  return runtime().settings.check == Check::off ||
         (ticket.list == other.list && ticket.sequence == other.sequence && ticket.hash == other.hash);
}

// Not when the movement is done: two ranks that lend each other new blocks would wait for one another.
void part_is_written(Movement& movement) {
  if (--movement.unwritten > 0) return;
  for (const auto location : movement.lent_new)
    runtime().engine.node.store->arena().header(location).unfinished.store(0, std::memory_order_release);
}

void finish_part(Movement& movement) {
  if (--movement.unfinished > 0) return;
  Engine& engine = runtime().engine;
  const auto alive = std::move(*movement.self);
  engine.live.erase(movement.self);
  --engine.live_count;
  if (movement.in_background) --engine.chunked;
  movement.keep.clear();
  movement.tasks.clear();
  movement.node_tasks.clear();
  movement.done_.store(true, std::memory_order_release);
}

std::shared_ptr<Transfer> post_phase(const Ticket& ticket, std::uint32_t phase, std::vector<Exchange> sends, std::vector<Exchange> receives,
                                     std::vector<std::shared_ptr<Block>> keep, std::vector<LocalCopy> copies) {
  Runtime& r = runtime();
  auto near_sends = on_node(sends), near_receives = on_node(receives);
  const bool near = !near_sends.empty() || !near_receives.empty();
  auto tasks = make_message_tasks(std::move(sends), std::move(receives));
  if (tasks.empty() && !near) {
    for (const auto& copy : copies) copy_box(copy.from, copy.to);
    return nullptr;
  }
  wait_for_message_room(ticket, tasks);
  for (const auto& exchange : near_sends) wait_for_room_on_node(ticket, exchange);
  auto movement = std::make_shared<Movement>();
  movement->ticket = ticket;
  movement->words = r.ledger.words_of(ticket.list, ticket.sequence);
  movement->phase = phase;
  movement->keep = std::move(keep);
  movement->tasks = std::move(tasks);
  movement->unfinished = movement->tasks.size() + 1;
  movement->unwritten = 1 + static_cast<std::size_t>(std::count_if(movement->tasks.begin(), movement->tasks.end(), [](const Task& t) { return !t.outgoing; }));
  bool wakes = false;
  run_local_part(movement->words.call.operation.data(), [&] {
    const std::scoped_lock hold(r.lock);
    movement->number = r.engine.posted++;
    movement->self = r.engine.live.insert(r.engine.live.end(), movement);
    ++r.engine.live_count;
    if (near) start_on_node(*movement, std::move(near_sends), std::move(near_receives), std::move(copies));
    movement->in_background = movement->copied_bytes >= large_on_node();
    if (movement->in_background) ++r.engine.chunked;
    wakes = start_messages(movement) || movement->in_background;
    part_is_written(*movement);
    finish_part(*movement);  // the one above the tasks: none of them ends the movement while it begins
  });
  if (!near)
    for (const auto& copy : copies) copy_box(copy.from, copy.to);
  if (wakes) wake_progress_thread();
  if (movement->done() && movement->adopted_.empty()) return nullptr;
  return movement;
}

std::shared_ptr<Transfer> post(const Ticket& ticket, std::vector<Exchange> sends, std::vector<Exchange> receives,
                               std::vector<std::shared_ptr<Block>> keep, std::vector<LocalCopy> copies) {
  return post_phase(ticket, 0, std::move(sends), std::move(receives), std::move(keep), std::move(copies));
}

bool lends_blocks_to(std::int64_t rank) { return shares_memory_with(static_cast<int>(rank)); }

void Movement::give_up(const std::string& why) {
  given_up = fmt::format("{}: given up: {}", words.text(), why);
  for (const auto location : lent_new) runtime().engine.node.store->arena().header(location).unfinished.store(0, std::memory_order_release);
  done_.store(true, std::memory_order_release);
}

void Movement::let_go() {
  keep.clear();
  tasks.clear();
  node_tasks.clear();
  adopted_.clear();
}

void Movement::wait() {
  if (done()) {
    if (!given_up.empty()) throw CollectiveError(given_up);
    return;
  }
  const auto peers = [this] {
    const std::scoped_lock hold(runtime().lock);
    std::vector<int> ranks;
    for (const auto& task : tasks) {
      if (task.finished < task.payload.bytes() || !task.head_done) ranks.push_back(task.peer);
    }
    for (const auto& task : node_tasks)
      if (task.owner && task.role != NodeTask::Role::own) ranks.push_back(task.peer);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  };
  wait_for([this] { return done(); }, {.what = "a transfer", .ticket = &ticket, .words = &words, .peers = peers, .on_node = near});
}

}  // namespace meshwise::detail

#include "runtime/node_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "meshwise/base/error.hpp"
#include "runtime/node_letter.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

constexpr int patience = 40;                                 // idle looks before a rank does what another should
// Bands copied in a row, before anything else is looked at and the others are told: four large ones, or sixteen of those that are over in microseconds,
// whose fences would cost as much as a tenth of them.
constexpr int most_at_once = 16, large_band_counts = 4;
constexpr std::int64_t small_band = std::int64_t{64} << 10;
constexpr std::int64_t short_run = 512;

NodeExchange& here() { return runtime().engine.node; }

/// A smaller exchange is copied before a second rank could join in.
std::int64_t shared_from() { return runtime().settings.large_from > 0 ? runtime().settings.large_from : std::int64_t{1} << 20; }

/// A copy up to this size is over before a task could be made of it.
bool is_copied_at_once(std::int64_t bytes) {
  constexpr std::int64_t most = std::int64_t{64} << 10;
  return bytes <= std::min(most, shared_from() - 1);
}

// ---- posting ----

/// Memory that no peer can read moves to a block that it can.
std::shared_ptr<Block> make_readable(StridedBox& box) {
  if (box.block && box.block->location().is_shared()) return nullptr;
  auto block = here().store->allocate(static_cast<std::size_t>(box.bytes()));
  StridedBox dense = box;
  dense.base = block->data();
  auto step = static_cast<std::int64_t>(box.itemsize);
  for (std::size_t d = box.extents.size(); d-- > 0; step *= box.extents[d]) dense.strides[d] = step;
  copy_box(box, dense);
  box = std::move(dense);
  box.block = block.get();
  return block;
}

void announce_new(Movement& movement, const StridedBox& box) {
  const auto location = box.block->location();
  const auto same = [&](const BlockLocation& l) { return l.place == location.place && l.number == location.number; };
  if (std::any_of(movement.lent_new.begin(), movement.lent_new.end(), same)) return;
  here().store->arena().header(location).unfinished.store(1, std::memory_order_relaxed);
  movement.lent_new.push_back(location);
}

void send_letter(Movement& movement, Exchange&& exchange) {
  NodeExchange& node = here();
  const int place = node.place_of[static_cast<std::size_t>(exchange.rank)];
  std::vector<std::shared_ptr<Block>> made;  // until the letter holds references of its own
  LetterWriter letter(movement.ticket, movement.words, movement.phase, node.epoch);
  std::int64_t copied = 0;
  for (auto& box : exchange.boxes) {
    if (box.fresh) announce_new(movement, box);
    if (auto block = make_readable(box)) made.push_back(std::move(block));
    letter.add(box, node.store->arena());
    if (box.passing == Passing::copy) copied += box.bytes();
  }
  if (copied >= shared_from()) {
    NodeTask task{.owner = &movement, .role = NodeTask::Role::sends, .peer = static_cast<int>(exchange.rank), .place = place, .bytes = copied};
    std::size_t words = 0;
    for (auto& box : exchange.boxes) {
      if (box.passing != Passing::copy) continue;
      words += words_of(box);
      task.short_source = task.short_source || box.run_bytes() < short_run;
      task.boxes.push_back(std::move(box));
    }
    task.shared_block = node.store->allocate(sizeof(SharedTask) + 8 * words);
    std::memset(task.shared_block->data(), 0, sizeof(SharedTask));
    task.shared = reinterpret_cast<SharedTask*>(task.shared_block->data());
    letter.set_shared(*task.shared_block, node.store->arena());
    task.counted = task.short_source;
    if (task.counted) ++movement.unanswered;
    movement.node_tasks.push_back(std::move(task));
    node.tasks.push_back(&movement.node_tasks.back());
  }
  node.sent[static_cast<std::size_t>(place)] += static_cast<std::uint64_t>(letter.bytes());
  ++runtime().engine.heads_sent;
  letter.send(node.out[static_cast<std::size_t>(place)], *node.store);
}

void expect_letter(Movement& movement, Exchange&& exchange) {
  NodeExchange& node = here();
  NodeTask task{.owner = &movement, .peer = static_cast<int>(exchange.rank), .place = node.place_of[static_cast<std::size_t>(exchange.rank)]};
  task.boxes = std::move(exchange.boxes);
  for (const auto& box : task.boxes) {
    task.bytes += box.bytes();
    if (box.passing == Passing::copy) movement.copied_bytes += box.bytes();
    else movement.adopted_.emplace_back();
  }
  task.adopts_from = movement.adopted_.size();
  for (const auto& box : task.boxes) task.adopts_from -= box.passing != Passing::copy ? 1 : 0;
  movement.node_tasks.push_back(std::move(task));
  auto& expected = node.expected[static_cast<std::size_t>(movement.node_tasks.back().place)];
  if (expected.empty()) ++node.expecting;
  expected.push_back(&movement.node_tasks.back());
}

void add_own(Movement& movement, std::vector<LocalCopy>&& copies) {
  std::int64_t bytes = 0;
  for (const auto& copy : copies) bytes += copy.from.bytes();
  if (is_copied_at_once(bytes)) {
    for (const auto& copy : copies) copy_box(copy.from, copy.to);
    runtime().bytes_copied.fetch_add(bytes, std::memory_order_relaxed);
    return;
  }
  NodeTask task{.owner = &movement, .role = NodeTask::Role::own, .state = NodeTask::State::open, .peer = runtime().rank};
  for (const auto& copy : copies) {
    task.bytes += copy.from.bytes();
    add_strip(task, copy.from, copy.from.strides.data(), copy.to.strides.data(), copy.from.base, copy.to.base, movement.copied_bytes);
  }
  movement.node_tasks.push_back(std::move(task));
  here().tasks.push_back(&movement.node_tasks.back());
}

// ---- finishing ----

/// Forgets those that are whole by now. True when none is left.
bool all_whole(std::vector<BlockLocation>& blocks) {
  const Arena& arena = here().store->arena();
  std::erase_if(blocks, [&](const BlockLocation& l) { return !arena.is_unfinished(l); });
  return blocks.empty();
}

bool is_finished(NodeTask& task) {
  if (task.role == NodeTask::Role::sends) return task.shared->complete.load(std::memory_order_acquire) != 0;
  if (task.state == NodeTask::State::blocked && all_whole(task.awaited)) task.state = NodeTask::State::open;
  if (task.state != NodeTask::State::open) return false;
  if (!task.written) {
    if ((task.shared ? task.shared->finished.load(std::memory_order_acquire) : task.finished) != task.bands) return false;
    task.written = true;
    part_is_written(*task.owner);
  }
  return all_whole(task.adopted);
}

void finish(NodeExchange& node, NodeTask& task) {
  if (task.role != NodeTask::Role::sends) runtime().bytes_copied.fetch_add(task.bands > 0 ? task.bytes : 0, std::memory_order_relaxed);
  if (task.role == NodeTask::Role::receives) {
    for (const auto location : task.lent) node.store->drop(location);
    node.in[static_cast<std::size_t>(task.place)].add_finished(static_cast<std::uint64_t>(task.bytes));
    if (task.shared) task.shared->complete.store(1, std::memory_order_release);
  }
  task.shared_block.reset();
  Movement& movement = *std::exchange(task.owner, nullptr);
  finish_part(movement);
}

// ---- reading letters ----

void open_received(NodeTask& task, const LetterReader& letter) {
  NodeExchange& node = here();
  Arena& arena = node.store->arena();
  Movement& movement = *task.owner;
  auto adopted = task.adopts_from;
  const bool at_once = is_copied_at_once(task.bytes) && !letter.has_shared();
  for (const auto& mine : task.boxes) {
    const auto theirs = letter.next();
    if (arena.is_unfinished(theirs.location)) (mine.passing == Passing::copy ? task.awaited : task.adopted).push_back(theirs.location);
    if (mine.passing != Passing::copy) {
      movement.adopted_[adopted++] = {node.store->adopt(theirs.location, theirs.block_bytes), theirs.offset,
                                      PerAxis<std::int64_t>(theirs.strides, theirs.strides + mine.extents.size())};
      continue;
    }
    const auto* const from = arena.readable(theirs.location);
    if (!from) throw OutOfMemoryError("the memory of another rank of the node can't be mapped");
    if (at_once && task.awaited.empty()) {
      copy_box({const_cast<std::byte*>(from) + theirs.offset, mine.extents, {theirs.strides, theirs.strides + mine.extents.size()}, mine.itemsize}, mine);
      node.store->drop(theirs.location);
      runtime().bytes_copied.fetch_add(mine.bytes(), std::memory_order_relaxed);
      continue;
    }
    task.lent.push_back(theirs.location);
    add_strip(task, mine, theirs.strides, mine.strides.data(), from + theirs.offset, mine.base, movement.copied_bytes);
  }
  if (letter.has_shared()) {
    task.shared_block = node.store->adopt(letter.shared(), letter.shared_bytes());
    task.shared = reinterpret_cast<SharedTask*>(arena.writable(letter.shared()));
    if (!task.shared) throw OutOfMemoryError("the memory of another rank of the node can't be mapped");
    answer(task, movement.copied_bytes);
  }
  task.state = task.awaited.empty() ? NodeTask::State::open : NodeTask::State::blocked;
  if (is_finished(task)) finish(node, task);  // and with it, it may be, the movement that the task is in
  else node.tasks.push_back(&task);
}

bool read_letters(NodeExchange& node) {
  bool any = false;
  for (std::size_t place = 0; place < node.in.size() && node.expecting > 0; ++place) {
    auto& expected = node.expected[place];
    while (!expected.empty()) {
      const std::byte* const at = node.in[place].front();
      if (!at) break;
      if (LetterReader::epoch_of(at) > node.epoch) break;
      any = true;
      const LetterReader letter(at, *node.store);
      if (LetterReader::epoch_of(at) < node.epoch) {
        letter.drop_all(*node.store);
        node.in[place].pop();
        continue;
      }
      ++runtime().engine.heads_received;
      NodeTask& task = *expected.front();
      const auto ticket = letter.ticket();
      if (!same_call(task.owner->ticket, task.owner->phase, task.bytes, ticket, letter.phase(), letter.bytes())) {
        spread_failure(FailureKind::mismatch, mismatch_words(runtime().rank, task.owner->words.text(), task.peer, letter.words().text()));
        return true;
      }
      expected.pop_front();
      if (expected.empty()) --node.expecting;
      open_received(task, letter);
      node.in[place].pop();
    }
  }
  return any;
}

// ---- copying ----

/// Short runs are copied by the rank whose memory they lie in, all its receivers' bands in turn, so that each line is fetched once.
bool is_mine_to_copy(const NodeTask& task) {
  const bool together = task.owner->unanswered == 0;
  switch (task.role) {
    case NodeTask::Role::own:
      return !task.short_source || together;
    case NodeTask::Role::sends:
      return task.short_source && together;
    case NodeTask::Role::receives:
      break;
  }
  return !task.short_source || !task.shared;
}

bool copy_some(NodeExchange& node, bool main_thread) {
  int left = most_at_once;
  const bool impatient = !main_thread || node.idle > patience;
  std::array<std::pair<NodeTask*, std::int64_t>, most_at_once> copied;  // and how many bands of it
  std::size_t tasks = 0;
  for (const bool preferred : {true, false}) {
    if (!preferred && (!impatient || tasks > 0)) break;
    for (std::size_t seen = 0; seen < node.tasks.size() && left > 0;) {
      if (node.turn >= node.tasks.size()) node.turn = 0;
      NodeTask& task = *node.tasks[node.turn++];
      ++seen;
      if (task.state != NodeTask::State::open || exhausted(task)) continue;
      if (!main_thread && task.role == NodeTask::Role::sends) continue;
      if (preferred && !is_mine_to_copy(task)) continue;
      if (!copy_band(task)) continue;
      left -= task.bytes <= task.bands * small_band ? 1 : large_band_counts;
      seen = 0;
      const auto end = copied.begin() + static_cast<std::ptrdiff_t>(tasks);
      const auto same = std::find_if(copied.begin(), end, [&](const auto& entry) { return entry.first == &task; });
      if (same != end) ++same->second;
      else copied[tasks++] = {&task, 1};
    }
  }
  if (tasks == 0) return false;
  Copier::fence();
  for (std::size_t k = 0; k < tasks; ++k) count_bands(*copied[k].first, copied[k].second);
  return true;
}

bool finish_some(NodeExchange& node) {
  bool any = false;
  for (std::size_t k = 0; k < node.tasks.size();) {
    NodeTask& task = *node.tasks[k];
    if (task.role == NodeTask::Role::sends && task.state == NodeTask::State::expected) {
      open_answered(task, node.store->arena());
      if (task.state == NodeTask::State::open && std::exchange(task.counted, false)) --task.owner->unanswered;
    }
    if (!is_finished(task)) {
      ++k;
      continue;
    }
    if (std::exchange(task.counted, false)) --task.owner->unanswered;
    node.tasks.erase(node.tasks.begin() + static_cast<std::ptrdiff_t>(k));
    finish(node, task);
    any = true;
  }
  return any;
}

}  // namespace

void begin_node_exchange(Runtime& r, ArenaStore& store, const std::vector<int>& ranks) {
  NodeExchange& node = r.engine.node;
  const Arena& arena = store.arena();
  node.store = &store;
  node.place_of.assign(static_cast<std::size_t>(r.size), -1);
  node.out.clear();
  node.in.clear();
  for (int place = 0; place < arena.places(); ++place) {
    node.place_of[static_cast<std::size_t>(ranks[static_cast<std::size_t>(place)])] = place;
    node.out.emplace_back(arena.letter_box(place, arena.place()), arena.layout().mail_bytes);
    node.in.emplace_back(arena.letter_box(arena.place(), place), arena.layout().mail_bytes);
  }
  node.sent.assign(ranks.size(), 0);
  node.known_finished.assign(ranks.size(), 0);
  node.expected.clear();
  node.expected.resize(ranks.size());
}

bool shares_memory_with(int rank) {
  const Runtime& r = runtime();
  return r.engine.node.store && rank != r.rank && r.engine.node.place_of[static_cast<std::size_t>(rank)] >= 0;
}

void start_on_node(Movement& movement, std::vector<Exchange>&& sends, std::vector<Exchange>&& receives, std::vector<LocalCopy>&& copies) {
  movement.near = true;
  movement.node_tasks.reserve(sends.size() + receives.size() + 1);  // others point to them
  for (const auto& copy : copies) movement.copied_bytes += copy.from.bytes();
  for (auto& exchange : receives) expect_letter(movement, std::move(exchange));
  for (auto& exchange : sends) send_letter(movement, std::move(exchange));
  if (!copies.empty()) add_own(movement, std::move(copies));
  movement.unfinished += movement.node_tasks.size();
  for (const auto& task : movement.node_tasks) movement.unwritten += task.role != NodeTask::Role::sends ? 1 : 0;
}

bool has_room_on_node(int rank, std::size_t boxes, std::int64_t bytes) {
  NodeExchange& node = here();
  const auto place = static_cast<std::size_t>(node.place_of[static_cast<std::size_t>(rank)]);
  const auto waiting = [&] { return static_cast<std::int64_t>(node.sent[place] - node.known_finished[place]); };
  if (waiting() + bytes > runtime().settings.run_ahead) node.known_finished[place] = node.out[place].finished();
  if (waiting() > 0 && waiting() + bytes > runtime().settings.run_ahead) return false;
  return node.out[place].has_room(LetterWriter::most_bytes(boxes, node.out[place].longest()));
}

bool serve_node(Runtime& r, bool main_thread) {
  NodeExchange& node = r.engine.node;
  if (node.expecting == 0 && node.tasks.empty()) return false;
  bool any = read_letters(node);
  any = copy_some(node, main_thread) || any;
  any = finish_some(node) || any;
  if (main_thread) node.idle = any ? 0 : node.idle + 1;
  return any;
}

int unasked_letter(Runtime& r) {
  NodeExchange& node = r.engine.node;
  for (std::size_t place = 0; place < node.in.size(); ++place) {
    const auto* const at = node.expected[place].empty() ? node.in[place].front() : nullptr;
    if (!at || LetterReader::epoch_of(at) != node.epoch) continue;
    return static_cast<int>(std::find(node.place_of.begin(), node.place_of.end(), static_cast<int>(place)) - node.place_of.begin());
  }
  return -1;
}

void drop_node_tasks(NodeExchange& node) {
  for (auto& expected : node.expected) expected.clear();
  for (const auto* task : node.tasks)
    for (const auto location : task->lent) node.store->drop(location);
  for (auto& letters : node.in)
    while (const auto* const at = letters.front()) {
      LetterReader(at, *node.store).drop_all(*node.store);
      letters.pop();
    }
  node.tasks.clear();
  node.expecting = 0;
  for (std::size_t place = 0; place < node.out.size(); ++place) node.sent[place] = node.known_finished[place] = node.out[place].finished();
  ++node.epoch;
}

}  // namespace meshwise::detail

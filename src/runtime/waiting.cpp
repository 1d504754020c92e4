#include "runtime/waiting.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/watch.hpp"
#include "runtime/ending.hpp"
#include "runtime/node.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

using namespace std::chrono_literals;

// With more ranks than cores the one that is waited for needs this core: yield at first, then sleep.
class Backoff {
 public:
  void moved() { idle_ = 0; }
  void pause() {
    ++idle_;
    if (idle_ < 100) {
      sched_yield();
    } else {
      const timespec nap{0, idle_ < 2000 ? 20'000 : 200'000};
      nanosleep(&nap, nullptr);
    }
  }

 private:
  int idle_ = 0;
};

// A wait that has become long: publishes itself, asks its peers, and ends at the limit the user set.
class LongWait {
 public:
  LongWait(const Waiting& waiting, Clock::time_point since) : waiting_(waiting), since_(since) {}
  ~LongWait() {
    if (!published_) return;
    WaitNote& note = runtime().waiting;
    const std::scoped_lock hold(note.lock);
    note.active = false;
    note.said.clear();
  }
  LongWait(const LongWait&) = delete;
  LongWait& operator=(const LongWait&) = delete;

  void look(Clock::time_point now) {
    if (now - since_ < 20ms) return;
    if (!published_) publish();
    if (now >= next_probe_) {
      probe();
      next_probe_ = now + interval_;
      interval_ = std::min<Clock::duration>(2 * interval_, 8s);
    }
    const double limit = runtime().settings.timeout;
    if (limit > 0 && std::chrono::duration<double>(now - since_).count() > limit) give_up();
  }

  /// Another rank's wait has reached the limit: this one says its own before it ends with it.
  void join_report() const {
    if (published_ && runtime().settings.timeout > 0 && Clock::now() - since_ > 1s) say(report());
  }

 private:
  std::vector<int> peers_now() const {
    auto peers = waiting_.peers ? waiting_.peers() : std::vector<int>();
    std::erase(peers, runtime().rank);
    std::sort(peers.begin(), peers.end());
    return peers;
  }

  void publish() {
    Runtime& r = runtime();
    auto peers = peers_now();
    WaitNote& note = r.waiting;
    const std::scoped_lock hold(note.lock);
    note.active = published_ = true;
    ++note.number;
    note.since = since_;
    note.reported = {};
    note.has_ticket = waiting_.ticket != nullptr;
    note.what = waiting_.what;
    if (waiting_.ticket) {
      note.list = waiting_.ticket->list;
      note.sequence = waiting_.ticket->sequence;
      note.hash = waiting_.ticket->hash;
      note.what = waiting_.words ? waiting_.words->text() : r.ledger.text_of(note.list, note.sequence);
      if (note.what.empty()) note.what = waiting_.what;
    }
    note.peers = std::move(peers);
    next_probe_ = since_ + 500ms;
  }

  void probe() {
    Runtime& r = runtime();
    const auto peers = peers_now();
    ControlHead head;
    head.kind = ControlKind::probe;
    std::string text;
    {
      WaitNote& note = r.waiting;
      const std::scoped_lock hold(note.lock);
      note.peers = peers;
      if (!note.has_ticket) return;
      head.list = note.list;
      head.sequence = note.sequence;
      head.hash = note.hash;
      head.value = note.number;
      text = note.what;
    }
    // Of very many peers a few will do: somebody waits beside each rank that went astray, and asks it.
    constexpr std::size_t most = 64;
    const std::scoped_lock hold(r.lock);
    for (std::size_t k = 0; k<peers.size(); k = peers.size()> most ? 2 * k + 1 : k + 1) {
      const auto next = std::upper_bound(peers.begin(), peers.end(), r.rank) - peers.begin();
      send_control(peers[(static_cast<std::size_t>(next) + k) % peers.size()], head, text);
    }
  }

  std::string report() const {
    Runtime& r = runtime();
    const std::scoped_lock hold(r.waiting.lock);
    return r.waiting.report(r.rank);
  }

  [[noreturn]] void give_up() const {
    const std::string words = fmt::format("{}; MESHWISE_TIMEOUT is {} s", report(), runtime().settings.timeout);
    say(words);
    if (claim_words()) words_are_out();
    const CommunicationError error(words);
    fail_everywhere(std::make_exception_ptr(error), waiting_.what);
    // The others wait for the same rank: each has its own call to report before the job ends.
    for (const auto end = Clock::now() + 300ms; Clock::now() < end;) {
      progress();
      std::this_thread::sleep_for(1ms);
    }
    throw error;
  }

  const Waiting& waiting_;
  Clock::time_point since_, next_probe_{};
  Clock::duration interval_ = 500ms;
  bool published_ = false;
};

// The peers are usually at the same call: a short exchange is done before anything else could be. Of more ranks than cores somebody needs this one.
bool done_at_once(FunctionRef<bool()> done) {
  Runtime& r = runtime();
  if (r.crowded) return false;
  for (int turn = 0; turn < 400 && !r.failure.is_set(); ++turn) {
    {
      const std::scoped_lock hold(r.lock);
      if (progress_on_node_locked()) turn = 0;
    }
    if (done()) return true;
    relax();
  }
  return false;
}

}  // namespace

std::string WaitNote::report(int rank) const {
  std::string whom;
  for (const int peer : peers) {
    if (!whom.empty()) whom += ", ";
    if (whom.size() > 2000) {
      whom += "...";
      break;
    }
    whom += fmt::format("rank {}", peer);
    if (const auto answer = said.find(peer); answer != said.end()) whom += fmt::format(" ({})", answer->second);
  }
  if (whom.empty()) whom = "itself";
  return fmt::format("rank {} has waited {:.1f} s in {} for {}", rank, std::chrono::duration<double>(Clock::now() - since).count(), what,
                     whom);
}

void wait_for(FunctionRef<bool()> done, const Waiting& waiting) {
  if (done()) return;
  Runtime& r = runtime();
  const MainServes serving;
  if (waiting.on_node && done_at_once(done)) return;
  const auto since = Clock::now();
  LongWait long_wait(waiting, since);
  Backoff backoff;
  for (std::uint64_t turn = 1;; ++turn) {
    const bool moved = progress();
    if (done()) return;
    if (!waiting.through_failure && r.failure.is_set()) {
      if (r.failure.kind() == FailureKind::communication) long_wait.join_report();
      r.failure.raise();
    }
    if (!waiting.through_agreement) r.agreements.raise();
    if (turn % 64 == 0) long_wait.look(Clock::now());
    // Who has work keeps its core: a switch after every few bands would cost more than the yield is worth.
    if (moved) backoff.moved();
    else backoff.pause();
  }
}

void wait_until(FunctionRef<bool()> done, std::string_view what) { wait_for(done, {.what = what}); }

}  // namespace meshwise::detail

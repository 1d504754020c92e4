// A thread that calls no MPI: it gets its line out also while the main thread computes, sleeps, or sits in somebody else's blocking call.
#include <fmt/format.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <optional>
#include <thread>

#include "runtime/ending.hpp"
#include "runtime/node.hpp"
#include "runtime/node_page.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

using namespace std::chrono_literals;

struct Watchdog {
  std::mutex lock;
  std::condition_variable bell;
  bool stop = false;
  std::thread thread;
};

Watchdog& state() {
  static auto* const immortal = new Watchdog;
  return *immortal;
}

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

// Each rank looks after the next one that is there: a death is seen by one neighbour, who speaks for all.
std::optional<int> dead_neighbour() {
  auto& [page, place, count] = node_page();
  if (!page) return {};
  for (int step = 1; step < count; ++step) {
    const int next = (place + step) % count;
    if (page->slot(next).state.load() != Presence::here) continue;
    if (!page->has_died(next)) return {};
    // Its goodbye may have come between the two looks.
    return page->slot(next).state.load() == Presence::here ? std::optional(page->slot(next).rank) : std::nullopt;
  }
  return {};
}

[[noreturn]] void report_death(Runtime& r, int dead) {
  std::string doing;
  {
    const std::scoped_lock hold(r.waiting.lock);
    doing = r.waiting.active ? r.waiting.report(r.rank) : fmt::format("last call of rank {}: {}", r.rank, r.ledger.last_call().text());
  }
  speak_once(fmt::format("rank {} died (it was killed or it crashed); {}", dead, doing));
  std::this_thread::sleep_for(5s);  // mpirun ends the job within two; where nothing like it does, this rank ends itself
  _exit(1);
}

void look_at_wait(Runtime& r) {
  WaitNote& note = r.waiting;
  const std::scoped_lock hold(note.lock);
  if (!note.active) return;
  const auto now = Clock::now();
  const double waited = seconds(now - note.since), after = r.settings.report_after, limit = r.settings.timeout;
  const double since_report = note.reported == Clock::time_point{} ? waited : seconds(now - note.reported) / 4;
  if (after > 0 && since_report > after) {
    say(note.report(r.rank));
    note.reported = now;
  }
  // The wait ends itself at the limit, unless it hangs in a call of MPI's.
  if (limit > 0 && waited > limit + 3) {
    say(fmt::format("{}; MESHWISE_TIMEOUT is {} s, and the call does not come back", note.report(r.rank), limit));
    _exit(1);
  }
}

void watch() {
  Runtime& r = runtime();
  Watchdog& w = state();
  prctl(PR_SET_NAME, "mw-watchdog");
  std::optional<Clock::time_point> left;
  for (;;) {
    {
      std::unique_lock hold(w.lock);
      if (w.bell.wait_for(hold, 20ms, [&] { return w.stop; })) return;
    }
    if (const auto dead = dead_neighbour()) report_death(r, *dead);
    look_at_wait(r);
    if (has_left_by_exception()) {
      if (!left) left = Clock::now();
      if (Clock::now() - *left > 2s) {
        speak_once(r.failure.words());
        abort_job(1);
      }
    }
  }
}

}  // namespace

void start_watchdog() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  state().thread = std::thread(watch);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void stop_watchdog() {
  Watchdog& w = state();
  if (!w.thread.joinable()) return;
  {
    const std::scoped_lock hold(w.lock);
    w.stop = true;
  }
  w.bell.notify_one();
  w.thread.join();
}

}  // namespace meshwise::detail

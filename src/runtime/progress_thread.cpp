// A chunked transfer must advance while the program sits in a foreign barrier or a long product: without this thread such a program
// deadlocks.
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <thread>

#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

constexpr long shortest = 50'000, longest = 1'000'000;  // nanoseconds between two looks while something is under way

struct ProgressThread {
  std::mutex lock;
  std::condition_variable bell;
  bool stop = false;
  bool rung = false;
  std::atomic<bool> asleep{false};
  std::atomic<int> main_serves{0};
  std::thread thread;
};

ProgressThread& state() {
  static auto* const immortal = new ProgressThread;
  return *immortal;
}

void serve() {
  Runtime& r = runtime();
  ProgressThread& s = state();
  prctl(PR_SET_NAME, "mw-progress");
  prctl(PR_SET_TIMERSLACK, 5000);
  long pause = shortest;
  bool moved = false;
  for (;;) {
    const bool pending = moved || r.engine.chunked.load(std::memory_order_relaxed) > 0;
    const bool work = pending && s.main_serves.load(std::memory_order_relaxed) == 0;
    if (work) {
      const timespec nap{0, pause};
      nanosleep(&nap, nullptr);
      const std::scoped_lock hold(s.lock);
      if (s.stop) return;
    } else {
      // Asleep, but for a look at the control messages now and then: news of failures and questions come unannounced.
      std::unique_lock hold(s.lock);
      s.asleep = true;
      s.bell.wait_for(hold, std::chrono::milliseconds(20), [&] { return s.stop || s.rung; });
      s.asleep = false;
      s.rung = false;
      if (s.stop) return;
    }
    // A peer may be late by seconds: then the looks become rarer.
    moved = s.main_serves.load(std::memory_order_relaxed) == 0 && progress();
    pause = moved ? shortest : std::min(pause + pause / 4, longest);
  }
}

}  // namespace

void start_progress_thread() {
  ProgressThread& s = state();
  s.stop = s.rung = false;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are for the program's threads
  s.thread = std::thread(serve);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void stop_progress_thread() {
  ProgressThread& s = state();
  if (!s.thread.joinable()) return;
  {
    const std::scoped_lock hold(s.lock);
    s.stop = true;
  }
  s.bell.notify_one();
  s.thread.join();
}

void wake_progress_thread() {
  ProgressThread& s = state();
  if (!s.asleep.load()) return;
  {
    const std::scoped_lock hold(s.lock);
    s.rung = true;
  }
  s.bell.notify_one();
}

MainServes::MainServes() { ++state().main_serves; }
MainServes::~MainServes() {
  if (--state().main_serves == 0 && runtime().engine.chunked.load(std::memory_order_relaxed) > 0) wake_progress_thread();
}

}  // namespace meshwise::detail

#include "runtime/ending.hpp"
#include "runtime/mpi_begin.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "meshwise/base/error.hpp"
#include "meshwise/runtime/environment.hpp"
#include "runtime/node.hpp"
#include "runtime/runtime.hpp"

namespace meshwise::detail {
namespace {

std::terminate_handler outer_handler = nullptr;
std::atomic<bool> ending_job{false};
std::atomic<bool> left_by_exception{false};

bool mpi_is_up() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized && !finalized;
}

// Nobody catches this exception: its words are said once for the whole job, and the job ends. Without this the other ranks would wait for
// ever.
[[noreturn]] void on_terminate() {
  std::string words = "terminated without an exception";
  if (const auto error = std::current_exception()) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      words = e.what();
    } catch (...) {
      words = "an exception that is no std::exception";
    }
  }
  const Runtime& r = runtime();
  if (r.life.load() == Life::ended || !mpi_is_up()) {
    speak_once(words);
    if (outer_handler) outer_handler();
    std::abort();
  }
  // Where all ranks throw the same, the first node says it for the job, which then ends; a failure of this node alone comes half a second later.
  if (!r.node_ranks.empty() && r.node_ranks[0] != 0) usleep(500'000);
  speak_once(r.size == 1 ? words : fmt::format("rank {}: {}", r.rank, words));
  abort_job(1);
}

void on_process_exit(int status, void*) {
  Runtime& r = runtime();
  if (ending_job || !mpi_is_up()) return;
  if (left_by_exception) {
    speak_once(r.failure.words());  // the ranks that were told may not come to it before the job ends
    abort_job(status == 0 ? 1 : status);
  }
  if (r.life.load() == Life::before) return finalize_mpi();  // the settings were refused, on every rank
  if (r.life.load() != Life::running) return;
  // std::exit while the Environment lives: main's objects are not destroyed, so the goodbye is said here.
  if (status != 0 || !on_main_thread()) abort_job(status == 0 ? 1 : status);
  say_goodbye();
  close_runtime();
}

void run_hooks(Runtime& r) {
  for (auto hooks = std::exchange(r.shutdown_hooks, {}); !hooks.empty(); hooks.pop_back()) hooks.back()();
}

// A head that nobody asked for: its sender made a call that this rank did not make, and no later message told.
bool unasked(Runtime& r, int& from) {
  {
    const std::scoped_lock hold(r.lock);
    if (from = unasked_letter(r); from >= 0) return true;
  }
  int found = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, head_tag, r.data, &found, &status);
  if (found) from = status.MPI_SOURCE;
  return found != 0;
}

void exchange_goodbyes(Runtime& r) {
  ControlHead head;
  head.kind = ControlKind::bye;
  const auto others = static_cast<std::int64_t>(r.size) - 1;
  const auto missing = [&r] {
    if (r.rank != 0) return std::vector<int>{0};
    const std::scoped_lock hold(r.lock);
    std::vector<int> ranks;
    for (int k = 1; k < r.size; ++k) {
      if (!r.rolls.said_bye[static_cast<std::size_t>(k)]) ranks.push_back(k);
    }
    return ranks;
  };
  if (r.rank != 0) {
    const std::scoped_lock hold(r.lock);
    send_control(0, head, {});
  }
  const auto started = Clock::now();
  const auto all_said = [&] {
    // A job that has failed does not wait for ever for a rank that may be stuck.
    if (r.failure.is_set() && Clock::now() - started > std::chrono::seconds(10)) {
      speak_once(r.failure.words());
      abort_job(1);
    }
    const std::scoped_lock hold(r.lock);
    return r.rank == 0 ? r.rolls.byes == others : r.rolls.leave;
  };
  wait_for(all_said, {.what = "the goodbye of the other ranks", .peers = missing, .through_failure = true});
  if (r.rank == 0) {
    const std::scoped_lock hold(r.lock);
    head.kind = ControlKind::leave;
    for (int k = 1; k < r.size; ++k) send_control(k, head, {});
  }
  const auto sent = [&r] {
    const std::scoped_lock hold(r.lock);
    return std::none_of(r.engine.pending.begin(), r.engine.pending.end(),
                        [](const Pending& p) { return p.kind == Pending::Kind::control_send; });
  };
  const auto last = Clock::now();
  wait_for([&] { return sent() || (r.failure.is_set() && Clock::now() - last > std::chrono::seconds(1)); },
           {.what = "the goodbye of the other ranks", .through_failure = true});
}

}  // namespace

void abort_job(int code) {
  if (!ending_job.exchange(true) && mpi_is_up()) MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

void speak_once(std::string_view words) {
  if (!claim_words()) return;
  say(words);
  words_are_out();
}

void say(std::string_view words) {
  const std::string line = fmt::format("meshwise: {}\n", words);
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // there is nobody to tell
}

void watch_exits() {
  outer_handler = std::set_terminate(on_terminate);
  on_exit(on_process_exit, nullptr);
}

bool has_left_by_exception() { return left_by_exception; }

void leave_by_exception() {
  Runtime& r = runtime();
  left_by_exception = true;
  const std::string words = fmt::format("rank {} left its Environment by an exception, after {}", r.rank, r.ledger.last_call().text());
  if (r.size == 1) {
    close_runtime();
    left_by_exception = false;  // whoever catches it decides how the only process ends
    return;
  }
  {
    const std::scoped_lock hold(r.lock);
    spread_failure(FailureKind::collective, words);
  }
  r.life.store(Life::leaving, std::memory_order_release);
}

void say_goodbye() {
  Runtime& r = runtime();
  if (!r.running()) return;
  run_hooks(r);
  try {
    if (!r.failure.is_set()) quiesce();
  } catch (const Error& error) {
    fmt::print(stderr, "meshwise: rank {}: {}\n", r.rank, error.what());
    abort_job(1);
  }
  r.life.store(Life::leaving, std::memory_order_release);
  if (r.size == 1) return;
  try {
    exchange_goodbyes(r);
  } catch (const Error& error) {
    speak_once(error.what());
    abort_job(1);
  }
  int from = 0;
  if (!r.failure.is_set() && unasked(r, from)) {
    speak_once(fmt::format("rank {} sent data that rank {} never asked for: the two made different calls", from, r.rank));
    abort_job(1);
  }
}

void close_runtime() {
  Runtime& r = runtime();
  if (r.life.load() == Life::ended) return;
  stop_progress_thread();
  stop_watchdog();
  leave_node();
  const std::scoped_lock hold(r.lock);
  Engine& engine = r.engine;
  const bool clean = engine.requests.size() <= 1 && r.groups.abandoned.empty();
  drop_requests(engine);
  r.life.store(Life::ended, std::memory_order_release);
  if (mpi_is_ours()) {
    finalize_mpi();
  } else if (clean) {
    // The same order on every rank: the map's.
    for (auto& [ranks, group] : r.groups.known) {
      if (group && group->communicator != MPI_COMM_NULL && group->communicator != r.data) MPI_Comm_free(&group->communicator);
    }
    if (r.groups.verdicts.communicator != MPI_COMM_NULL) MPI_Comm_free(&r.groups.verdicts.communicator);
    MPI_Comm_free(&r.data);
    MPI_Comm_free(&r.control);
    MPI_Comm_free(&r.base);
  }
}

}  // namespace meshwise::detail
